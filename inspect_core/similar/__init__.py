"""Have we seen this before: similarity search in which outliers are similar to nothing."""

from inspect_core.similar.gallery import robust_similarity

__all__ = ["robust_similarity"]
