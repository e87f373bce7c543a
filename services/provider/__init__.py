"""An MLaaS provider: serves trained classifiers, offers them for download, and takes in the uploads of edge
clients.

An honest and a curious provider are the same program, and answer alike; only the operator of the range learns
what a curious one infers from the uploads.
"""
