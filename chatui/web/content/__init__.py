"""The endpoints that answers need besides the pages: files, uploads, diagrams and app installation."""
