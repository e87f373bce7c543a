"""The papers' experiments: printed figures, the works that measure ours, and the pages that hold both."""
