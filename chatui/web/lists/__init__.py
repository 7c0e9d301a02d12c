"""The pages for organising conversations: the archive, the bin and folders."""
