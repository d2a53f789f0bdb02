"""The laws, each a function of a subject that raises `Broken` with what it found. Those of decoders come second."""

import io
from collections.abc import Callable, Iterator, Mapping

import torch
from torch import Tensor, nn

from seqarena.models.contract import Encoded, map_state
from seqarena.soundness.subject import LENGTHS, Subject, write


class Broken(Exception):
    """A law does not hold. The message says where."""


def holds(condition: object, message: str) -> None:
    """Broken with `message` unless the condition is true."""
    if not condition:
        raise Broken(message)


def near(a: Tensor, b: Tensor, what: str, within: float = 1e-5) -> None:
    """Equal up to `within`, or that share of the largest value: rounding grows with what is summed."""
    apart = (a.float() - b.float()).abs().max().item() if a.numel() else 0.0
    bound = within * max(1.0, b.float().abs().max().item() if b.numel() else 1.0)
    holds(apart <= bound, f"{what}: {apart:.2g} apart, which is more than {bound:.2g}")


# encoders -------------------------------------------------------------------------------------------------------------


def shapes(subject: Subject) -> None:
    """Reading gives finite numbers of the right shapes."""
    encoder = subject.encoder()
    x_BSD, mask_BS = subject.batch()
    encoded = encoder(x_BSD, mask_BS)
    holds(encoder.dim == x_BSD.shape[-1], f"the encoder's dim is {encoder.dim}, not {x_BSD.shape[-1]}")
    for name in ("states_BSD", "values_BSD"):
        shape = getattr(encoded, name).shape
        holds(shape == x_BSD.shape, f"{name} has the shape {tuple(shape)}")
    holds(encoded.summary_BD.shape == x_BSD[:, 0].shape, f"the summary has the shape {tuple(encoded.summary_BD.shape)}")
    holds(all(part.isfinite().all() for part in encoded), "a number is not finite")


def padding(subject: Subject) -> None:
    """States at padding are zero, and so is the summary of an empty text."""
    x_BSD, mask_BS = subject.batch()
    encoded = subject.encoder()(x_BSD, mask_BS)
    holds(not encoded.states_BSD[~mask_BS].any(), "states at padding are not zero")
    holds(not encoded.values_BSD[~mask_BS].any(), "values at padding are not zero")
    holds(not encoded.summary_BD[LENGTHS.index(0)].any(), "the summary of an empty text is not zero")


def mates(subject: Subject) -> None:
    """A text reads the same alone and beside others, whatever the padding."""
    encoder = subject.encoder()
    for padded in (9, 10, 23):
        x_BSD, mask_BS = subject.batch(padded=padded)
        together = encoder(x_BSD, mask_BS)
        for row, length in enumerate(LENGTHS):
            real, one = max(length, 1), slice(row, row + 1)
            alone = encoder(x_BSD[one, :real], mask_BS[one, :real])
            for a, b in zip(alone, _rows(together, one, real), strict=True):
                near(a, b, f"a text of {length} tokens, alone and among texts padded to {padded}")


def _rows(encoded: Encoded, keep: slice, length: int) -> Encoded:
    """Some rows of a read batch, cut to `length`."""
    chosen = map_state(lambda x: x[keep], encoded)
    cut = {name: getattr(chosen, name)[:, :length] for name in ("states_BSD", "mask_BS", "values_BSD")}
    return chosen._replace(**cut)


def tiny(subject: Subject) -> None:
    """Texts of one token and empty ones are read, forward and backward."""
    encoder = subject.encoder()
    for lengths in ((1,), (0,), (1, 0), (0, 0, 2)):
        x_BSD, mask_BS = subject.batch(lengths, padded=max(*lengths, 1))
        x_BSD.requires_grad_()
        encoder(x_BSD, mask_BS).summary_BD.sum().backward()
        gradient = x_BSD.grad
        holds(gradient is not None and gradient.isfinite().all(), f"lengths {lengths}: the gradient is not finite")
        holds(gradient is None or not gradient[~mask_BS].any(), f"lengths {lengths}: padding has a gradient")


def reading_gradients(subject: Subject) -> None:
    """From the summary a gradient reaches every parameter of the encoder."""
    encoder = subject.encoder()
    x_BSD, mask_BS = subject.batch()
    (encoder(x_BSD, mask_BS).summary_BD * subject.embedded(len(LENGTHS))).sum().backward()
    holds(not (left := unreached(encoder)), f"no gradient reaches {', '.join(left)}")


def unreached(module: nn.Module) -> list[str]:
    """Parameters whose gradient is missing, zero throughout or not finite."""
    return [
        label
        for label, weight in module.named_parameters()
        if weight.grad is None or not weight.grad.isfinite().all() or not weight.grad.any()
    ]


def seeds(subject: Subject) -> None:
    """The same seed gives the same weights and outputs, another one others."""
    x_BSD, mask_BS = subject.batch()
    found = []
    for seed in (3, 3, 4):
        encoder = subject.encoder(seed).train()
        read = encoder(x_BSD, mask_BS).states_BSD
        found.append(torch.cat([read.flatten(), *(weight.flatten() for weight in encoder.parameters())]))
    holds(torch.equal(found[0], found[1]), "one seed gave two different encoders")
    holds(not torch.equal(found[0], found[2]), "two seeds gave the same encoder")


def calm(subject: Subject) -> None:
    """Training without dropout reads as evaluation does."""
    encoder = subject.encoder(dropout=0.0)
    x_BSD, mask_BS = subject.batch()
    still = encoder(x_BSD, mask_BS).summary_BD
    near(encoder.train()(x_BSD, mask_BS).summary_BD, still, "training and evaluation, without dropout", 1e-6)


def half(subject: Subject) -> None:
    """In bfloat16 it reads nearly the same."""
    encoder = subject.encoder()
    x_BSD, mask_BS = subject.batch()
    exact = encoder(x_BSD, mask_BS).states_BSD
    with torch.autocast("cpu", torch.bfloat16):
        rough = encoder(x_BSD, mask_BS).states_BSD
    near(rough, exact, "bfloat16 and 32 bits", 0.08 * max(exact.abs().max().item(), 0.02))


def saved(subject: Subject) -> None:
    """Weights that are saved and loaded read the same."""
    one, other = subject.encoder(1), subject.encoder(2)
    file = io.BytesIO()
    torch.save(one.state_dict(), file)
    file.seek(0)
    other.load_state_dict(torch.load(file, weights_only=True))
    x_BSD, mask_BS = subject.batch()
    before, after = (encoder(x_BSD, mask_BS).states_BSD for encoder in (one, other))
    holds(torch.equal(before, after), "loaded weights read otherwise")


STEPS = 200


def learns(subject: Subject) -> None:
    """Eight texts with labels of their own can be learned by heart."""
    encoder = subject.encoder(dropout=0.0).train()
    head = nn.Linear(subject.model.dim, 8)
    x_BSD, mask_BS = subject.batch((9, 7, 5, 8, 6, 9, 4, 7))
    optimizer = torch.optim.Adam([*encoder.parameters(), *head.parameters()], lr=3e-3)
    for _ in range(STEPS):
        loss = nn.functional.cross_entropy(head(encoder(x_BSD, mask_BS).summary_BD), torch.arange(8))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if loss.item() < 0.1:
            return
    raise Broken(f"after {STEPS} steps the loss over eight texts is still {loss.item():.2g}")


# decoders -------------------------------------------------------------------------------------------------------------


def writing_shapes(subject: Subject) -> None:
    """Writing gives finite numbers of the right shapes, and a state with the batch first."""
    decoder, encoded = subject.decoder(), subject.encoder()(*subject.batch())
    y_BTD = subject.embedded(len(LENGTHS), 6)
    out_BTD, state = decoder(y_BTD, encoded, decoder.start(encoded))
    holds(out_BTD.shape == y_BTD.shape, f"the output has the shape {tuple(out_BTD.shape)}")
    holds(out_BTD.isfinite().all(), "a number is not finite")

    def first(part: Tensor) -> Tensor:
        holds(len(part) == len(LENGTHS), f"a part of the state has the shape {tuple(part.shape)}, not the batch first")
        return part

    map_state(first, state)


def writing_mates(subject: Subject) -> None:
    """A target is written the same alone and beside others."""
    encoder, decoder = subject.encoder(), subject.decoder()
    x_BSD, mask_BS = subject.batch(padded=12)
    y_BTD = subject.embedded(len(LENGTHS), 5)
    together = write(decoder, y_BTD, encoder(x_BSD, mask_BS), [5])
    for row, length in enumerate(LENGTHS):
        real, one = max(length, 1), slice(row, row + 1)
        alone = write(decoder, y_BTD[one], encoder(x_BSD[one, :real], mask_BS[one, :real]), [5])
        near(alone, together[one], f"from a text of {length} tokens, alone and among others")


def future(subject: Subject) -> None:
    """No output depends on a later input, and each does on its own."""
    decoder, encoded = subject.decoder(), subject.encoder()(*subject.batch())
    y_BTD = subject.embedded(len(LENGTHS), 8)
    before = write(decoder, y_BTD, encoded, [8])
    for t in range(7):
        changed = torch.cat((y_BTD[:, : t + 1], subject.embedded(len(LENGTHS), 7 - t, seed=99)), 1)
        after = write(decoder, changed, encoded, [8])
        near(after[:, : t + 1], before[:, : t + 1], f"outputs up to {t}, when inputs after {t} change")
        moved = (after[:, t + 1] - before[:, t + 1]).abs().max().item()
        holds(moved > 1e-4, f"output {t + 1} does not depend on input {t + 1}")


def pieces(subject: Subject) -> None:
    """One pass equals one token at a time, and pieces of any length."""
    decoder, encoded = subject.decoder(), subject.encoder()(*subject.batch())
    y_BTD = subject.embedded(len(LENGTHS), 8)
    whole = write(decoder, y_BTD, encoded, [8])
    for lengths in ([1] * 8, [3, 5], [1, 7], [6, 1, 1]):
        near(write(decoder, y_BTD, encoded, lengths), whole, f"pieces of {lengths} and one pass")


def reordered(subject: Subject) -> None:
    """A reordered state continues the reordered batch, as beam search needs it."""
    decoder, encoded = subject.decoder(), subject.encoder()(*subject.batch())
    y_BTD = subject.embedded(len(LENGTHS), 6)
    order = torch.tensor([4, 0, 0, 3, 1, 2])
    _, state = decoder(y_BTD[:, :3], encoded, decoder.start(encoded))
    moved, _ = decoder(
        y_BTD[order, 3:], map_state(lambda part: part[order], encoded), map_state(lambda part: part[order], state)
    )
    near(moved, write(decoder, y_BTD, encoded, [6])[order, 3:], "a reordered state")


def writing_gradients(subject: Subject) -> None:
    """From the output a gradient reaches every parameter of encoder and decoder."""
    encoder, decoder = subject.encoder(), subject.decoder()
    encoded = encoder(*subject.batch())
    out_BTD = write(decoder, subject.embedded(len(LENGTHS), 9), encoded, [9])
    (out_BTD * subject.embedded(len(LENGTHS), 9, seed=5)).sum().backward()
    left = [*unreached(encoder), *unreached(decoder)]
    holds(not left, f"no gradient reaches {', '.join(left)}")


def writing_tiny(subject: Subject) -> None:
    """From empty texts and texts of one token something finite is written, forward and backward."""
    encoder, decoder = subject.encoder(), subject.decoder()
    for lengths in ((1,), (0,), (0, 0, 2)):
        x_BSD, mask_BS = subject.batch(lengths, padded=max(*lengths, 1))
        x_BSD.requires_grad_()
        out_BTD = write(decoder, subject.embedded(len(lengths), 1), encoder(x_BSD, mask_BS), [1])
        out_BTD.sum().backward()
        holds(out_BTD.isfinite().all(), f"lengths {lengths}: an output is not finite")
        holds(x_BSD.grad is None or x_BSD.grad.isfinite().all(), f"lengths {lengths}: the gradient is not finite")


def writing_calm(subject: Subject) -> None:
    """Training without dropout writes as evaluation does, and with much of it does not."""
    encoded = subject.encoder()(*subject.batch())
    y_BTD = subject.embedded(len(LENGTHS), 4)
    for rate in (0.0, 0.4):
        decoder = subject.decoder(dropout=rate)
        still = write(decoder, y_BTD, encoded, [4])
        moved = (write(decoder.train(), y_BTD, encoded, [4]) - still).abs().max().item()
        holds(moved < 1e-6 if rate == 0 else moved > 1e-3, f"dropout {rate} moves the output by {moved:.2g}")


def writing_half(subject: Subject) -> None:
    """In bfloat16 it writes nearly the same, in one pass and in pieces."""
    encoder, decoder = subject.encoder(), subject.decoder()
    x_BSD, mask_BS = subject.batch()
    y_BTD = subject.embedded(len(LENGTHS), 6)
    exact = write(decoder, y_BTD, encoder(x_BSD, mask_BS), [6])
    within = 0.08 * exact.abs().max().item() + 1e-3
    with torch.autocast("cpu", torch.bfloat16):
        encoded = encoder(x_BSD, mask_BS)
        for lengths in ([6], [1, 3, 1, 1]):
            near(write(decoder, y_BTD, encoded, lengths), exact, f"bfloat16 in pieces of {lengths}", within)


READING: tuple[Callable[[Subject], None], ...] = (
    shapes, padding, mates, tiny, reading_gradients, seeds, calm, half, saved, learns,
)  # fmt: skip
WRITING: tuple[Callable[[Subject], None], ...] = (
    writing_shapes, writing_mates, future, pieces, reordered, writing_gradients, writing_tiny, writing_calm,
    writing_half,
)  # fmt: skip
LAWS: Mapping[str, Callable[[Subject], None]] = {law.__name__: law for law in (*READING, *WRITING)}


def of(subject: Subject) -> Iterator[Callable[[Subject], None]]:
    """The laws that concern a subject: of reading, and of writing if it has a decoder."""
    yield from READING
    if subject.writes:
        yield from WRITING
