"""LiRA and RMIA: inference of the records that a model was trained on."""
