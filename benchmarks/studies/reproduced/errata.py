"""What the papers print otherwise than it must be meant."""

from benchmarks.studies.reproduced.claims import figures, number, table


def page() -> str:
    """The text of docs/ERRATA.md: each stands with how it was shown."""
    proved, identities = figures("propositions"), figures("cop_corp")["exact_identities"]
    kim, constant = proved["kim"], proved["dey"]["constant_as_printed"]
    return "\n\n".join([
        "# Errata of the five papers",
        "What is printed, what is right, and how it was shown. Found while the papers were reproduced "
        "([REPRODUCTION.md](REPRODUCTION.md)); written by `python -m benchmarks.studies.reproduction` from\n"
        "[propositions.json](../benchmarks/results/studies/propositions.json) and "
        "[cop_corp.json](../benchmarks/results/studies/cop_corp.json): do not edit it. Full titles:\n"
        "[CITE.md](CITE.md).",
        table(("paper, place", "printed", "right", "shown by"), [
            ("Kim, Corollary 1", "(1/α) ‖I‖²", "(1/α²) ‖I‖²",
             f"as printed on {kim['as_printed']} of {kim['cases']} covariances, corrected on {kim['corrected']}"),
            ("Kim, Table 1: Gaussian embedding .886 below semi-orthogonal .924", "a property of the embedding",
             "an effect of the ridge ε", "Without it both have the same span and the same distances: largest relative "
             f"difference {kim['gaussian_against_its_span']:.0e} on {kim['cases']} covariances."),
            ("Kim, appendix B, above eq. 33", "(X Xᵀ)⁻¹ X t = N C⁻¹ X t", "C⁻¹ X t / N",
             f"C is X Xᵀ / N: they agree to {kim['distillation']['teacher']:.0e} on {kim['cases']} cases; it is a "
             "factor of the loss alone."),
            ("Fang, below eq. 2, and its algorithm", "ω from N(0, √(2γ))",
             "√(2γ) is the standard deviation, not the variance",
             "The map's inner products then tend to exp(−γ‖x − y‖²), the kernel named there."),
            ("Fang, Proposition 2 and eq. 9", "the error is ‖Aᵀ k(z)‖",
             "the exact form, [METHODS](METHODS.md) section 2",
             f"rank correlation with the error {number(identities['rank_correlation_of_printed_form'], 2)}; the exact "
             f"form agrees to {identities['cosine_kernel_against_cop']:.0e}"),
            ("Pavutnitskiy, eq. 37", "the supremum of the thresholds", "the infimum", "The rate falls as the threshold "
             "grows, so that the supremum is no bound."),
            ("Hoffmann, V^l", "Σ α Φ(x)", "Σ α (Φ(x) − Φ₀)", "Immaterial: the α sum to 0."),
            ("Dey, Gaussian XOR", "both classes at ±(.5, −.5)", "one class at ±(.5, .5)",
             "Otherwise both classes are the same mixture."),
            ("Dey, spiral", "angles over [0, 4π] and [4π, 8π]", "[0, 4π] for one arm, its negative for the other",
             "The printed ranges are full turns: both arms coincide for every whole number of turns t_K, which the "
             "paper does not give."),
            ("Dey, the constant b", "exp(−10⁻⁷)", "exp(−10⁷), our reading",
             f"As printed the errors of KDF are {number(min(constant.values()), 2)} to "
             f"{number(max(constant.values()), 2)} on the six simulations: b outweighs the densities."),
            ("Dey, the constant b, in the authors' code", "one constant", "another for each experiment",
             "log b −1e100 and −1e200 (in distribution), −100 (out of it), −58 to −65 (Fig. 5), −2e6 (ViT), −4e8 and "
             "−1e7 (commented out), beside inputs scaled otherwise: no one of them keeps the error and lowers the "
             "confidence far away on Fig. 3A; a calibrated one does."),
        ]),
    ]) + "\n"  # fmt: skip
