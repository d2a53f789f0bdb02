"""What every architecture owes its users, for each `conf/model/*.yaml` on disk; a new file needs no edit here.

Each is checked as it stands and, as `<name>+kit`, three layers deep with residuals and the norm switch turned over.
"""

from functools import cache
from pathlib import Path

import pytest
import torch
from hydra.utils import instantiate
from omegaconf import DictConfig, OmegaConf
from torch import Tensor

from seqarena.models.contract import Decoder, Encoded, Encoder, map_state

FOLDER = Path(__file__).parents[2] / "conf" / "model"
FILES = sorted(path.stem for path in FOLDER.glob("*.yaml"))
CASES = [case for name in FILES for case in (name, f"{name}+kit")]
LENGTHS = (9, 4, 1, 0, 2)
"""Real lengths of the test batch: the longest, some shorter than the widest kernel, one empty."""

pytestmark = pytest.mark.parametrize("name", CASES)


def other_norm(norm: bool | str) -> bool | str:
    """The switch turned over; a named norm is turned off, or on before each sublayer."""
    if isinstance(norm, bool):
        return not norm
    return "none" if norm != "none" else "pre"


@cache
def config(name: str) -> DictConfig:
    file, _, kit = name.partition("+")
    model = OmegaConf.load(FOLDER / f"{file}.yaml")
    model.dim = 24  # small, even, and a multiple of three widths and of four heads
    model.update({option: 2 for option in ("window", "segment") if option in model})  # shorter than the texts
    if kit:
        model.layers, model.residual = 3, True
        model.norm = other_norm(model.norm)
    return OmegaConf.create({"model": model})


def build(name: str, seed: int = 0, **knobs: float) -> tuple[Encoder, Decoder]:
    settings = OmegaConf.merge(config(name), {"model": knobs})
    torch.manual_seed(seed)
    return instantiate(settings.model.encoder).eval(), instantiate(settings.model.decoder).eval()


def embedded(name: str, *shape: int, seed: int = 1) -> Tensor:
    """Vectors as the task's embedding would give them at the start."""
    model = config(name).model
    std = model.dim**-0.5 if model.embedding.std is None else model.embedding.std
    spread = std * (model.dim**0.5 if model.embedding.scale else 1.0)
    return torch.randn(*shape, model.dim, generator=torch.Generator().manual_seed(seed)) * spread


def batch(name: str, lengths: tuple[int, ...] = LENGTHS, padded: int | None = None) -> tuple[Tensor, Tensor]:
    """Sources and mask; padding holds ordinary vectors, so that a model which reads it is found out."""
    longest = padded or max(lengths)
    x_BSD = torch.stack([embedded(name, longest, seed=10 + row) for row in range(len(lengths))])
    return x_BSD, torch.arange(longest) < torch.tensor(lengths)[:, None]


def write(decoder: Decoder, y_BTD: Tensor, encoded: Encoded, pieces: list[int]) -> Tensor:
    """The decoder's outputs when the target arrives in pieces of these lengths."""
    state, outputs = decoder.start(encoded), []
    for piece_BTD in y_BTD.split(pieces, 1):
        out_BTD, state = decoder(piece_BTD, encoded, state)
        outputs.append(out_BTD)
    return torch.cat(outputs, 1)


def near(a: Tensor, b: Tensor, atol: float = 1e-5) -> None:
    """Equal up to `atol`, or that share of the largest value: rounding grows with what is summed."""
    largest = max(1.0, b.abs().max().item())
    torch.testing.assert_close(a, b, atol=atol * largest, rtol=0.0)


def rows(encoded: Encoded, keep: slice | list[int], length: int) -> Encoded:
    """Some rows of a read batch, cut to `length`."""
    chosen = map_state(lambda x: x[keep], encoded)
    cut = {name: getattr(chosen, name)[:, :length] for name in ("states_BSD", "mask_BS", "values_BSD")}
    return chosen._replace(**cut)


def test_outputs_are_finite_and_have_their_shapes(name: str) -> None:
    encoder, decoder = build(name)
    x_BSD, mask_BS = batch(name)
    encoded = encoder(x_BSD, mask_BS)
    y_BTD = embedded(name, len(LENGTHS), 6)
    out_BTD, state = decoder(y_BTD, encoded, decoder.start(encoded))
    assert encoder.dim == decoder.dim == x_BSD.shape[-1]
    assert encoded.states_BSD.shape == encoded.values_BSD.shape == x_BSD.shape
    assert encoded.summary_BD.shape == x_BSD[:, 0].shape
    assert out_BTD.shape == y_BTD.shape
    assert all(part.isfinite().all() for part in (*encoded, out_BTD))
    sizes: list[int] = []
    map_state(lambda part: sizes.append(len(part)) or part, state)
    assert set(sizes) == {len(LENGTHS)}


def test_padding_has_zero_states_and_an_empty_row_a_zero_summary(name: str) -> None:
    encoder, _ = build(name)
    x_BSD, mask_BS = batch(name)
    encoded = encoder(x_BSD, mask_BS)
    assert not encoded.states_BSD[~mask_BS].any()
    assert not encoded.values_BSD[~mask_BS].any()
    assert not encoded.summary_BD[LENGTHS.index(0)].any()


@pytest.mark.parametrize("padded", [9, 10, 23])
def test_a_sentence_does_not_depend_on_batch_mates_or_padding(name: str, padded: int) -> None:
    encoder, decoder = build(name)
    x_BSD, mask_BS = batch(name, padded=padded)
    together = encoder(x_BSD, mask_BS)
    y_BTD = embedded(name, len(LENGTHS), 5)
    written = write(decoder, y_BTD, together, [5])
    for row, length in enumerate(LENGTHS):
        real, one = max(length, 1), slice(row, row + 1)
        alone = encoder(x_BSD[one, :real], mask_BS[one, :real])
        for a, b in zip(alone, rows(together, one, real), strict=True):
            near(a.float(), b.float())
        near(write(decoder, y_BTD[one], alone, [5]), written[one])


def test_no_output_depends_on_later_inputs(name: str) -> None:
    encoder, decoder = build(name)
    encoded = encoder(*batch(name))
    y_BTD = embedded(name, len(LENGTHS), 8)
    before = write(decoder, y_BTD, encoded, [8])
    for t in range(7):
        changed = torch.cat((y_BTD[:, : t + 1], embedded(name, len(LENGTHS), 7 - t, seed=99)), 1)
        after = write(decoder, changed, encoded, [8])
        near(after[:, : t + 1], before[:, : t + 1])
        assert (after[:, t + 1] - before[:, t + 1]).abs().max() > 1e-4


@pytest.mark.parametrize("pieces", [[1] * 8, [3, 5], [1, 7], [6, 1, 1]], ids=str)
def test_one_pass_equals_pieces(name: str, pieces: list[int]) -> None:
    encoder, decoder = build(name)
    encoded = encoder(*batch(name))
    y_BTD = embedded(name, len(LENGTHS), 8)
    near(write(decoder, y_BTD, encoded, pieces), write(decoder, y_BTD, encoded, [8]))


def test_a_reordered_state_continues_the_reordered_batch(name: str) -> None:
    encoder, decoder = build(name)
    encoded = encoder(*batch(name))
    y_BTD = embedded(name, len(LENGTHS), 6)
    order = torch.tensor([4, 0, 0, 3, 1, 2])
    _, state = decoder(y_BTD[:, :3], encoded, decoder.start(encoded))

    def pick(part: Tensor) -> Tensor:
        return part[order]

    moved, _ = decoder(y_BTD[order, 3:], map_state(pick, encoded), map_state(pick, state))
    near(moved, write(decoder, y_BTD, encoded, [6])[order, 3:])


def unreached(module: torch.nn.Module) -> list[str]:
    """Parameters whose gradient is missing, zero throughout or not finite."""
    return [
        label
        for label, weight in module.named_parameters()
        if weight.grad is None or not weight.grad.isfinite().all() or not weight.grad.any()
    ]


def test_gradients_reach_every_parameter(name: str) -> None:
    encoder, decoder = build(name)
    x_BSD, mask_BS = batch(name)
    (encoder(x_BSD, mask_BS).summary_BD * embedded(name, len(LENGTHS))).sum().backward()
    assert unreached(encoder) == []
    encoder.zero_grad()
    encoded = encoder(x_BSD, mask_BS)
    y_BTD = embedded(name, len(LENGTHS), 9)
    (write(decoder, y_BTD, encoded, [9]) * embedded(name, len(LENGTHS), 9, seed=5)).sum().backward()
    assert unreached(encoder) == []
    assert unreached(decoder) == []


@pytest.mark.parametrize("lengths", [(1,), (0,), (1, 0), (0, 0, 2)], ids=str)
def test_tiny_and_empty_inputs_work_forward_and_backward(name: str, lengths: tuple[int, ...]) -> None:
    encoder, decoder = build(name)
    x_BSD, mask_BS = batch(name, lengths, padded=max(*lengths, 1))
    x_BSD.requires_grad_()
    encoded = encoder(x_BSD, mask_BS)
    out_BTD = write(decoder, embedded(name, len(lengths), 1), encoded, [1])
    (out_BTD.sum() + encoded.summary_BD.sum()).backward()
    assert out_BTD.isfinite().all()
    assert x_BSD.grad is not None and x_BSD.grad.isfinite().all()
    assert not x_BSD.grad[~mask_BS].any()


def test_the_same_seed_gives_the_same_weights_and_outputs(name: str) -> None:
    x_BSD, mask_BS = batch(name)
    y_BTD = embedded(name, len(LENGTHS), 4)
    seen = []
    for seed in (3, 3, 4):
        encoder, decoder = build(name, seed)
        encoder.train(), decoder.train()
        seen.append(write(decoder, y_BTD, encoder(x_BSD, mask_BS), [4]))
        seen.append(torch.cat([weight.flatten() for weight in (*encoder.parameters(), *decoder.parameters())]))
    assert torch.equal(seen[0], seen[2]) and torch.equal(seen[1], seen[3])
    assert not torch.equal(seen[0], seen[4]) and not torch.equal(seen[1], seen[5])


@pytest.mark.parametrize("rate", [0.0, 0.4])
def test_training_without_dropout_is_evaluation_and_with_it_is_not(name: str, rate: float) -> None:
    encoder, decoder = build(name, dropout=rate)
    x_BSD, mask_BS = batch(name)
    y_BTD = embedded(name, len(LENGTHS), 4)

    calm = encoder(x_BSD, mask_BS)
    written_BTD = write(decoder, y_BTD, calm, [4])
    encoder.train(), decoder.train()
    read_otherwise = (encoder(x_BSD, mask_BS).summary_BD - calm.summary_BD).abs().max()
    written_otherwise = (write(decoder, y_BTD, calm, [4]) - written_BTD).abs().max()
    if rate == 0.0:
        assert max(read_otherwise, written_otherwise) < 1e-6
    else:  # an encoder of one layer may have no place for dropout: the task drops embeddings and summary
        assert written_otherwise > 1e-3 and (read_otherwise > 1e-3 or not name.endswith("+kit"))


def test_bf16_is_near_fp32(name: str) -> None:
    encoder, decoder = build(name)
    x_BSD, mask_BS = batch(name)
    y_BTD = embedded(name, len(LENGTHS), 6)
    exact = write(decoder, y_BTD, encoder(x_BSD, mask_BS), [6])
    with torch.autocast("cpu", torch.bfloat16):
        encoded = encoder(x_BSD, mask_BS)
        rough = write(decoder, y_BTD, encoded, [6])
        pieces = write(decoder, y_BTD, encoded, [1, 3, 1, 1])
    bound = 0.08 * exact.abs().max().item() + 1e-3
    near(rough.float(), exact, bound)
    near(pieces.float(), exact, bound)
    (rough.float().sum() + encoded.summary_BD.float().sum()).backward()
    assert all(weight.grad is None or weight.grad.isfinite().all() for weight in encoder.parameters())


def test_weights_survive_a_save(name: str, tmp_path: Path) -> None:
    (encoder, decoder), (other, another) = build(name, 1), build(name, 2)
    torch.save((encoder.state_dict(), decoder.state_dict()), tmp_path / "weights")
    first, second = torch.load(tmp_path / "weights", weights_only=True)
    other.load_state_dict(first), another.load_state_dict(second)
    x_BSD, mask_BS = batch(name)
    y_BTD = embedded(name, len(LENGTHS), 3)
    assert torch.equal(
        write(another, y_BTD, other(x_BSD, mask_BS), [3]), write(decoder, y_BTD, encoder(x_BSD, mask_BS), [3])
    )
