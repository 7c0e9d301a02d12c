"""The storage of static files: names contain a hash of the content, so that browsers may cache them for ever."""

from __future__ import annotations

from servestatic.storage import CompressedManifestStaticFilesStorage


class HashedStaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Also rewrites ES module imports, ``import … from "./x.js";``. Only imports that end in a semicolon are found."""

    support_js_module_import_aggregation = True
