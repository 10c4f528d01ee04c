"""Export and import: a store's memories as lines of text, and back."""
