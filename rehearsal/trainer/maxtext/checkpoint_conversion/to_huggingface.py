"""`python3 -m maxtext.checkpoint_conversion.to_huggingface key=value ... [--flag]`."""

from ..standin.export import to_huggingface
from ..standin.program import run

if __name__ == "__main__":
    run("mt-to-hf", to_huggingface)
