"""Models in files that are not ours: ONNX, scikit-learn in skops, and torch's `torch.export` and TorchScript.

A file comes with a card, in which its owner says what it takes and what its numbers are. Both are checked
together, with one run in a process of its own, before they are kept in a folder that a provider serves.
"""
