"""From raw text to batches: sources, tokenizers, prepared and cached examples, the datamodule."""
