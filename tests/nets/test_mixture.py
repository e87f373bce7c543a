import pytest
import torch

from leakrange.nets import nets
from leakrange.nets.classifier import Classifier
from leakrange.nets.mixture import MixtureHead, mixture
from leakrange.wire.samples import SampleSpec


def pair(y: int, s: int, seed: int = 0) -> tuple[Classifier, Classifier]:
    torch.manual_seed(seed)
    linear = nets["linear"]
    tiny = SampleSpec.picture(2, 2, 1)
    return linear.build(tiny, y).eval(), linear.build(tiny, s).eval()


X = torch.randn(50, 1, 2, 2, generator=torch.Generator().manual_seed(1)) * 3


@pytest.mark.parametrize(("y", "s"), [(2, 2), (3, 3), (5, 3), (4, 2)])
def test_the_softmax_is_the_mixture(y: int, s: int) -> None:
    of_y, of_s = pair(y, s)
    z_y, z_s = of_y(X).softmax(1), of_s(X).softmax(1)
    padded = torch.cat([z_s, torch.zeros(len(X), y - s)], dim=1)
    normal = mixture(of_y, of_s, beta_s=0.2, hard=False)(X)
    torch.testing.assert_close(normal.softmax(1), 0.8 * z_y + 0.2 * padded)
    expected = 0.8 * torch.eye(y)[z_y.argmax(1)] + 0.2 * torch.eye(y)[z_s.argmax(1)]
    hard = mixture(of_y, of_s, beta_s=0.2, hard=True)(X)
    torch.testing.assert_close(hard.softmax(1), expected)
    assert torch.isfinite(hard).all()


def test_the_example_of_the_paper() -> None:
    """Y = 5, S = 3, β^y = .8: answers 3 and 1 give [0, .2, 0, .8, 0]."""
    of_y, of_s = pair(5, 3)
    with torch.no_grad():
        of_y.head.bias[3], of_s.head.bias[1] = 100.0, 100.0  # type: ignore[index]
    released = mixture(of_y, of_s, beta_s=0.2, hard=True)(X[:1]).softmax(1)
    torch.testing.assert_close(released, torch.tensor([[0.0, 0.2, 0.0, 0.8, 0.0]]))


def test_the_greatest_entry_of_a_hard_mixture_is_y() -> None:
    of_y, of_s = pair(4, 3)
    mixed = mixture(of_y, of_s, beta_s=0.49, hard=True)
    assert (mixed(X).argmax(1) == of_y(X).argmax(1)).all()


def test_features_are_those_of_both_and_the_head_reads_them() -> None:
    of_y, of_s = pair(3, 2)
    mixed = mixture(of_y, of_s, beta_s=0.3, hard=False)
    features = mixed.features(X)
    assert features.shape == (50, mixed.feature_count) == (50, 8)
    torch.testing.assert_close(mixed.head(features), mixed(X))
    assert isinstance(mixed.head, MixtureHead)
    y, s = mixed.head.parts(features)
    torch.testing.assert_close(y, of_y(X))
    torch.testing.assert_close(s, of_s(X))


def test_what_cannot_be_mixed_is_refused() -> None:
    with pytest.raises(ValueError, match="S must be at most Y"):
        mixture(*pair(2, 3), beta_s=0.2, hard=True)
    for beta_s in (0.0, 0.5, 0.7, float("nan")):
        with pytest.raises(ValueError, match="between 0 and"):
            mixture(*pair(2, 2), beta_s=beta_s, hard=True)
    with pytest.raises(ValueError, match="same net"):
        mixture(pair(2, 2)[0], nets["linear"].build(SampleSpec.picture(3, 3, 1), 2), beta_s=0.2, hard=True)
