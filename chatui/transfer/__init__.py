"""What leaves a conversation and what comes in as a file: downloads, share links, imports."""
