"""What a range of a given size would answer: queues fed with the CPU times that benchmarks measured."""
