"""The HTTP views: pages, fragments, downloads. They check ``access`` first, then render what ``display`` or ``transfer`` prepared."""
