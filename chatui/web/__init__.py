"""The HTTP views: pages, fragments, downloads. They ask ``access`` first, then render what ``display`` or ``exports`` prepared."""
