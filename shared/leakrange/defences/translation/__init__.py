"""Translators x' = T(x) and the losses they are trained by, as functions of tensors; torch is needed here."""
