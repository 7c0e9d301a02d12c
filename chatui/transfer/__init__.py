"""What comes in and goes out as a file or link: imports, exports, uploads, shares, ratings."""
