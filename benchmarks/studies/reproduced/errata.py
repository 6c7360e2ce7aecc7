"""What the papers print otherwise than it must be meant."""

from benchmarks.studies.reproduced.claims import figures, number, table


def section() -> list[str]:
    """What is printed otherwise than it must be meant; each stands with how that was shown."""
    proved, identities = figures("propositions"), figures("cop_corp")["exact_identities"]
    kim, constant = proved["kim"], proved["dey"]["constant_as_printed"]
    return [
        "## Errata of the papers",
        "What is printed, what is right, and how it was shown; the scripts are those of the sections above.",
        table(("paper, place", "printed", "right", "shown by"), [
            ("Kim, Corollary 1", "(1/α) ‖I‖²", "(1/α²) ‖I‖²",
             f"as printed on {kim['as_printed']} of {kim['cases']} covariances, corrected on {kim['corrected']}"),
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
             "The printed ranges are full turns, so that both arms coincide."),
            ("Dey, the constant b", "exp(−10⁻⁷)", "exp(−10⁷), our reading",
             f"As printed the errors of KDF are {number(min(constant.values()), 2)} to "
             f"{number(max(constant.values()), 2)} on the six simulations: b outweighs the densities."),
        ]),
    ]  # fmt: skip
