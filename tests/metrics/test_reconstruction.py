import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio, structural_similarity

from leakrange.metrics.reconstruction import MAX_PSNR, psnr, ssim


@pytest.fixture
def pictures(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """300 pairs of 16 × 19, more than a batch: smooth ones, and the same with noise that grows with their
    place."""
    noise = rng.normal(size=(300, 16, 19, 3))
    smooth = 0.5 + 0.25 * np.sin(np.cumsum(noise, axis=1))
    blurred = np.clip(smooth + np.linspace(0.001, 0.5, 300)[:, None, None, None] * noise, 0.0, 1.0)
    return smooth.astype(np.float32), blurred.astype(np.float32)


def test_ssim_is_scikit_images(pictures: tuple[np.ndarray, np.ndarray]) -> None:
    """Whose mean leaves out a border of half a window, and so counts the same windows."""
    theirs = [
        structural_similarity(
            x, y, gaussian_weights=True, sigma=1.5, use_sample_covariance=False, data_range=1, channel_axis=-1
        )
        for x, y in zip(*(each.astype(np.float64) for each in pictures), strict=True)
    ]
    ours = ssim(*pictures)
    np.testing.assert_allclose(ours, theirs, atol=1e-9)
    assert ours.max() > 0.99
    assert ours.min() < 0.5


def test_psnr_is_scikit_images(pictures: tuple[np.ndarray, np.ndarray]) -> None:
    theirs = [
        peak_signal_noise_ratio(x, y, data_range=1)
        for x, y in zip(*(each.astype(np.float64) for each in pictures), strict=True)
    ]
    np.testing.assert_allclose(psnr(*pictures), np.minimum(theirs, MAX_PSNR), atol=1e-6)


def test_one_channel_and_the_smallest_picture_are_taken(rng: np.random.Generator) -> None:
    x = rng.random((2, 11, 11, 1))
    y = 1 - x
    theirs = structural_similarity(
        x[1, ..., 0],
        y[1, ..., 0],
        gaussian_weights=True,
        sigma=1.5,
        use_sample_covariance=False,
        data_range=1,
    )
    assert ssim(x, y)[1] == pytest.approx(theirs, abs=1e-9)


def test_a_perfect_reconstruction_is_as_good_as_eight_bits_can_tell(rng: np.random.Generator) -> None:
    picture = rng.random((1, 12, 12, 3))
    rounded = np.rint(picture * 255) / 255
    assert psnr(picture, picture).tolist() == [MAX_PSNR]
    assert psnr(picture, rounded) == pytest.approx([MAX_PSNR], abs=0.5)  # what rounding alone costs
    assert ssim(picture, picture) == pytest.approx([1.0])


def test_what_cannot_be_compared_is_refused(rng: np.random.Generator) -> None:
    picture = rng.random((3, 12, 12, 1))
    with pytest.raises(ValueError, match="both be pictures"):
        psnr(picture, picture[:2])
    with pytest.raises(ValueError, match="divide those of 8 bits by 255"):
        psnr(picture * 255, picture)
    with pytest.raises(ValueError, match="divide"):
        ssim(picture, np.full_like(picture, np.nan))
    with pytest.raises(ValueError, match="10 x 12: enlarge"):
        ssim(picture[:, :10], picture[:, :10])
