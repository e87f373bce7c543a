"""Reproductions of the papers: what a paper measured, measured again."""
