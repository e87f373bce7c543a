"""The kinds of samples that there are, one file each: see `leakrange.wire.samples.Encoding`."""
