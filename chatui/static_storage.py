"""Static files under names that carry their content's hash, ES module imports included, so that browsers may keep them for ever."""

from __future__ import annotations

from servestatic.storage import CompressedManifestStaticFilesStorage


class HashedStaticStorage(CompressedManifestStaticFilesStorage):  # type: ignore[misc]
    """Rewrites ``import … from "./x.js";`` too. Only imports that end in a semicolon are found."""

    support_js_module_import_aggregation = True
