"""The chat page by keyboard: shortcuts, the sheet that lists them, and the list that folds away."""
