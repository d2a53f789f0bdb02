"""Greedy and beam search. They see an embedding, a decoder and an output layer, never an architecture.

Each sentence is searched by itself: when its beam has enough finished hypotheses and none that goes on is ahead of
them, or its own length limit is reached, it is taken out of the batch. So the result does not depend on its batch.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from seqarena.data.batch import BEGIN, END, PAD
from seqarena.models.contract import Decoder, Encoded, State, map_state


@dataclass(frozen=True)
class Search:
    """How to look for the best target.

    `beam` 1 is greedy search. Hypotheses are ranked by log-probability over length^`length_penalty` (Wu et al. 2016 in
    its plain form; 0 ranks by log-probability alone). A target may have `ratio` times the source's tokens plus `extra`.
    Without `cache` the prefix is read anew at each step: slower, the same result.
    """

    beam: int = 1
    length_penalty: float = 1.0
    ratio: float = 1.5
    extra: int = 10
    cache: bool = True

    def limits(self, mask_BS: Tensor) -> Tensor:
        """The most tokens each target may have, end mark included, (B,)."""
        return (mask_BS.sum(1) * self.ratio).long() + self.extra


@dataclass
class _Beams:
    """The sentences still searched (N of them, K beams each) and what they have finished."""

    sentence_N: Tensor
    tokens_NKT: Tensor
    score_NK: Tensor
    encoded: Encoded
    state: State
    limit_N: Tensor
    finished_N: list[list[tuple[float, list[int]]]]


@torch.no_grad()
def search(
    embed: Callable[[Tensor], Tensor],
    decoder: Decoder,
    logits: Callable[[Tensor], Tensor],
    encoded: Encoded,
    how: Search,
) -> list[list[int]]:
    """The best target of each sentence as token ids, without begin and end marks."""
    beams = _begin(decoder, encoded, how)
    best: list[list[int]] = [[] for _ in range(len(encoded.mask_BS))]
    step = 0
    while len(beams.sentence_N):
        step += 1
        before = beams.state
        score_NKV, beams.state = _continue(embed, decoder, logits, beams, how)
        _advance(beams, score_NKV, before, step, how)
        done = _done(beams, step, how)
        for place, sentence in enumerate(beams.sentence_N.tolist()):
            if done[place]:
                best[sentence] = max(beams.finished_N[place], key=lambda hypothesis: hypothesis[0])[1]
        if any(done):
            _keep(beams, [place for place, over in enumerate(done) if not over], how.beam)
    return best


def _done(beams: _Beams, step: int, how: Search) -> list[bool]:
    """Which sentences are over: at their limit, or enough hypotheses have ended and none that goes on is ahead of them.

    The number alone would not do: where the model is sure of itself, unlikely ends fill the beam before the likely one.
    """
    ahead_N = (beams.score_NK.max(1).values / step**how.length_penalty).tolist()
    return [
        step >= limit or (len(finished) >= how.beam and max(score for score, _ in finished) >= ahead)
        for finished, limit, ahead in zip(beams.finished_N, beams.limit_N.tolist(), ahead_N, strict=True)
    ]


def _begin(decoder: Decoder, encoded: Encoded, how: Search) -> _Beams:
    sentences, device = len(encoded.mask_BS), encoded.mask_BS.device
    limit_N = how.limits(encoded.mask_BS)
    encoded = map_state(lambda x: x.repeat_interleave(how.beam, 0), encoded)
    score_NK = torch.full((sentences, how.beam), float("-inf"), device=device)
    score_NK[:, 0] = 0.0  # all beams start alike: only the first may branch
    return _Beams(
        sentence_N=torch.arange(sentences, device=device),
        tokens_NKT=torch.full((sentences, how.beam, 1), BEGIN, device=device),
        score_NK=score_NK,
        encoded=encoded,
        state=decoder.start(encoded),
        limit_N=limit_N,
        finished_N=[[] for _ in range(sentences)],
    )


def _continue(
    embed: Callable[[Tensor], Tensor],
    decoder: Decoder,
    logits: Callable[[Tensor], Tensor],
    beams: _Beams,
    how: Search,
) -> tuple[Tensor, State]:
    """Log-probabilities (N, K, V) of the next token of every beam, added to the beam's own."""
    sentences, width, _ = beams.tokens_NKT.shape
    if how.cache:
        y_BTD, state = decoder(embed(beams.tokens_NKT[..., -1].reshape(-1, 1)), beams.encoded, beams.state)
    else:
        state = beams.state
        y_BTD, _ = decoder(embed(beams.tokens_NKT.flatten(0, 1)), beams.encoded, state)
    logits_BV = logits(y_BTD[:, -1]).float()
    for never in (PAD, BEGIN):
        logits_BV[:, never] = float("-inf")
    return logits_BV.log_softmax(-1).unflatten(0, (sentences, width)).add_(beams.score_NK[..., None]), state


def _advance(beams: _Beams, score_NKV: Tensor, before: State, step: int, how: Search) -> None:
    """Choose the next step's beams; those that end among the best K are finished. `before` is the state it took."""
    sentences, width, vocabulary = score_NKV.shape
    last_N = beams.limit_N <= step
    if last_N.any():  # at its limit a sentence may only end
        ending = score_NKV[..., END].clone()
        score_NKV[last_N] = float("-inf")
        score_NKV[..., END] = ending
    score_NC, choice_NC = score_NKV.flatten(1).topk(2 * width)
    beam_NC, token_NC = choice_NC // vocabulary, choice_NC % vocabulary
    ends_NC = token_NC == END
    _collect(beams, score_NC[:, :width], beam_NC, ends_NC[:, :width], step, how)
    order_NC = (ends_NC | score_NC.isneginf()).long().argsort(dim=-1, stable=True)[:, :width]
    beam_NK, token_NK = beam_NC.gather(1, order_NC), token_NC.gather(1, order_NC)
    beams.score_NK = score_NC.masked_fill(ends_NC, float("-inf")).gather(1, order_NC)  # an ended beam never goes on
    past_NKT = beams.tokens_NKT.gather(1, beam_NK[..., None].expand(-1, -1, beams.tokens_NKT.shape[2]))
    beams.tokens_NKT = torch.cat((past_NKT, token_NK[..., None]), 2)
    if how.cache and width > 1:
        rows_B = (beam_NK + torch.arange(sentences, device=beam_NK.device)[:, None] * width).flatten()
        beams.state = _reordered(beams.state, before, rows_B)


def _reordered(state: State, before: State, rows_B: Tensor) -> State:
    """The state with its rows exchanged within sentences; what the step left as it was is alike in all their rows."""
    if state is before:
        return state
    if isinstance(state, Tensor) or isinstance(before, Tensor):
        assert isinstance(state, Tensor)
        return state.index_select(0, rows_B)
    return tuple(_reordered(*parts, rows_B) for parts in zip(state, before, strict=True))


def _collect(beams: _Beams, score_NK: Tensor, beam_NC: Tensor, ends_NK: Tensor, step: int, how: Search) -> None:
    """Note the hypotheses that end here with their final score."""
    place_E, rank_E = ends_NK.nonzero(as_tuple=True)
    if not len(place_E):
        return
    written_ET = beams.tokens_NKT[place_E, beam_NC[place_E, rank_E], 1:]
    ended = (place_E.tolist(), score_NK[place_E, rank_E].tolist(), written_ET.tolist())
    for place, score, tokens in zip(*ended, strict=True):
        if score > float("-inf") or not beams.finished_N[place]:
            beams.finished_N[place].append((score / step**how.length_penalty, tokens))


def _keep(beams: _Beams, places: list[int], width: int) -> None:
    """Go on with the sentences at `places` only."""
    place_N = torch.tensor(places, dtype=torch.long, device=beams.sentence_N.device)
    row_B = (place_N[:, None] * width + torch.arange(width, device=place_N.device)).flatten()
    beams.sentence_N, beams.limit_N = beams.sentence_N[place_N], beams.limit_N[place_N]
    beams.tokens_NKT, beams.score_NK = beams.tokens_NKT[place_N], beams.score_NK[place_N]
    beams.encoded = map_state(lambda x: x.index_select(0, row_B), beams.encoded)
    beams.state = map_state(lambda x: x.index_select(0, row_B), beams.state)
    beams.finished_N = [beams.finished_N[place] for place in places]
