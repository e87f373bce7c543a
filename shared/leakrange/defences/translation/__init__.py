"""Translators x' = T(x) and their losses, as functions of tensors; torch is needed here."""
