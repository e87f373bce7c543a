"""LiRA and RMIA: which records a model was trained on."""
