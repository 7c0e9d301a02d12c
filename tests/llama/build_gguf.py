"""Writes the model file of the tiny gpt-oss model: ``build_gguf.py WEIGHTS VOCABULARY TEMPLATE OUTPUT``.

Runs in the cache's own virtual environment, which has numpy and gguf. The architecture and the tokenizer are those of gpt-oss, so that
a server treats it as one; the 0.8 MB of weights hold only the tokens that the model knows, the others get rows of noise.
"""

# mypy: ignore-errors
import base64
import json
import sys
from pathlib import Path

import gguf
import numpy

SIZE = 201_088
MARKERS = {
    199998: "<|startoftext|>",
    199999: "<|endoftext|>",
    200002: "<|return|>",
    200003: "<|constrain|>",
    200005: "<|channel|>",
    200006: "<|start|>",
    200007: "<|end|>",
    200008: "<|message|>",
    200012: "<|call|>",
    200018: "<|endofprompt|>",
}
NORMAL, CONTROL, UNUSED = 1, 3, 5


def main(weights: str, vocabulary: str, template: str, output: str) -> None:
    arrays = numpy.load(weights)
    writer = gguf.GGUFWriter(output, "gpt-oss")
    describe(writer)
    add_tokenizer(writer, read_ranks(Path(vocabulary)))
    writer.add_chat_template(Path(template).read_text(encoding="utf-8"))
    add_tensors(writer, arrays, json.loads(bytes(arrays["meta"])))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def describe(writer: gguf.GGUFWriter) -> None:
    """The shape of the network; every number but the small ones is that of the published models."""
    writer.add_type("model")
    writer.add_name("gpt-oss tiny test model")
    writer.add_size_label("4x26M")
    writer.add_block_count(4)
    writer.add_context_length(131_072)
    writer.add_embedding_length(64)
    writer.add_feed_forward_length(64)
    writer.add_expert_feed_forward_length(64)
    writer.add_expert_count(4)
    writer.add_expert_used_count(2)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_key_length(64)
    writer.add_value_length(64)
    writer.add_sliding_window(128)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_freq_base(150_000.0)
    writer.add_rope_scaling_type(gguf.RopeScalingType.YARN)
    writer.add_rope_scaling_factor(32.0)
    writer.add_rope_scaling_orig_ctx_len(4096)
    writer.add_float32("gpt-oss.rope.scaling.yarn_beta_fast", 32.0)
    writer.add_float32("gpt-oss.rope.scaling.yarn_beta_slow", 1.0)
    writer.add_file_type(7)
    writer.add_quantization_version(2)


def read_ranks(path: Path) -> dict[bytes, int]:
    lines = (line.split() for line in path.read_bytes().splitlines() if line)
    return {base64.b64decode(token): int(rank) for token, rank in lines}


def add_tokenizer(writer: gguf.GGUFWriter, ranks: dict[bytes, int]) -> None:
    letters = byte_letters()
    spelt = {token: "".join(letters[byte] for byte in token) for token in ranks}
    tokens = [f"[PAD{index}]" for index in range(SIZE)]
    kinds = [UNUSED] * SIZE
    for token, rank in ranks.items():
        tokens[rank], kinds[rank] = spelt[token], NORMAL
    for index in range(199_998, 200_019):
        tokens[index], kinds[index] = MARKERS.get(index, f"<|reserved_{index}|>"), CONTROL
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("gpt-4o")
    writer.add_token_list(tokens)
    writer.add_token_types(kinds)
    writer.add_token_merges(merges(ranks, spelt))
    writer.add_bos_token_id(199_998)
    writer.add_eos_token_id(200_002)
    writer.add_pad_token_id(199_999)
    writer.add_add_bos_token(False)
    writer.add_add_eos_token(False)


def byte_letters() -> dict[int, str]:
    """A printable letter for each byte, as byte-level vocabularies spell them: printable ones are themselves, others follow at 256."""
    printable = {*range(33, 127), *range(161, 173), *range(174, 256)}
    others = (byte for byte in range(256) if byte not in printable)
    return {byte: chr(byte) for byte in printable} | {byte: chr(256 + place) for place, byte in enumerate(others)}


def merges(ranks: dict[bytes, int], spelt: dict[bytes, str]) -> list[str]:
    """Every way to put a token together from two others; earlier where the result, then the parts, rank earlier."""
    found = []
    for token, rank in ranks.items():
        cuts = ((token[:at], token[at:]) for at in range(1, len(token)))
        pairs = sorted((ranks[left], ranks[right], left, right) for left, right in cuts if left in ranks and right in ranks)
        found += [(rank, place, f"{spelt[left]} {spelt[right]}") for place, (_, _, left, right) in enumerate(pairs)]
    found.sort(key=lambda entry: entry[:2])
    return [text for _, _, text in found]


def add_tensors(writer: gguf.GGUFWriter, arrays, meta) -> None:
    for name, kind, _shape in meta["tensors"]:
        data = with_noise(arrays, name) if f"{name}:rows" in arrays else arrays[name]
        quantised = None if kind == "F32" else gguf.GGMLQuantizationType[kind]
        writer.add_tensor(name, numpy.ascontiguousarray(data), raw_dtype=quantised)


def with_noise(arrays, name: str):
    """A table with a row for each token: the rows of the tokens that the model knows, noise for all others."""
    noise = arrays[f"{name}:junk"]
    table = noise[numpy.arange(SIZE) % len(noise)]
    table[arrays["U"]] = arrays[f"{name}:rows"]
    return table


if __name__ == "__main__":
    main(*sys.argv[1:5])
