"""The pages for organizing conversations: the archive, the bin and folders."""
