"""The papers' experiments: their printed figures, the works that measure ours, and the pages that hold both."""
