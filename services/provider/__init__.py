"""An MLaaS provider: serves trained classifiers, lets them be downloaded, and takes in what edge clients
upload.

An honest and a curious provider are the same program, and answer alike; what a curious one infers from the
uploads is told to the operator of the range alone.
"""
