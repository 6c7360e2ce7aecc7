"""What sliders alone move: the rank under four embeddings, and digits before and after the maps of CoRP."""

import numpy as np
import streamlit as st

from inspect_core.methods.spectrum import COLLAPSED
from inspect_core.playgrounds import embeddings, mapped_digits
from inspect_core.plots import explore_plots, playgrounds, scatter
from inspect_core.plots.scatter import PointMarkers
from inspect_core.scoring.metrics import auroc
from inspect_core.tuning.tsne import tsne
from inspect_core.ui import charts

_KS = (5, 10, 20, 30, 40, 60, 80, 100)


@st.fragment
def semi_orthogonal() -> None:
    st.markdown(
        "Network features are redundant. Picking k of them at random also picks duplicates, so the covariance loses "
        "rank; mixing all of them with k orthonormal columns keeps the rank. A Gaussian mix keeps it too, but "
        "inflates the variances by about the number of features, so the same ridge regularises less."
    )
    st.caption(
        "Kim et al., “Semi-orthogonal embedding for efficient unsupervised anomaly segmentation” (2021), Fig. 3. "
        "Made-up features of 120 channels, each a copy of one of the distinct ones."
    )
    row = st.columns(3, gap="medium")
    width = row[0].slider("k: dimensions kept", 1, embeddings.LARGEST_K, 40, key="embedding_width")
    photos = row[1].slider("Good photos", 5, 400, 200, 5, key="embedding_photos")
    distinct = row[2].slider("Distinct channels, of 120", 5, 120, 60, 5, key="embedding_distinct")
    features = embeddings.redundant_features(photos, distinct, 0)
    theme = charts.current_theme()
    spectra = embeddings.spectra(features, width)
    left, right = st.columns(2, gap="medium")
    with left:
        st.markdown("**Spectrum of the covariance**")
        bands = {name: spectrum.band for name, spectrum in spectra.items()}
        level = (f"counted above {COLLAPSED:g}", COLLAPSED)
        charts.show(
            explore_plots.local_spectra(bands, theme, level=level, k=width), key="methods_spectra",
            alt="Eigenvalues of each embedding, largest first; the sampled one ends early.",
        )  # fmt: skip
    with right:
        st.markdown("**Rank retained**")
        figure = explore_plots.curves(
            _KS, embeddings.ranks(features, _KS), theme, parameter="k, kept", in_force=width, title="share of the rank"
        )
        charts.show(figure, key="methods_ranks", alt="Rank retained against k, for each embedding.")
    st.markdown(
        " · ".join(f"{name} **{spectra[name].fraction():.0%}**" for name in embeddings.EMBEDDINGS)
        + f" of {min(width, photos - 1):d} possible directions"
    )


@st.fragment
def corp() -> None:
    st.markdown(
        "Left: PCA of the raw features. Right: after scaling to unit length and mapping to random Fourier features. "
        "With the paper's networks, errors of known and foreign inputs separate only then. For these digits PCA "
        "already works well: try which γ and variance settings help and which hurt."
    )
    st.caption(
        "Fang et al., “Kernel PCA for out-of-distribution detection” (NeurIPS 2024). Here: 8 × 8 digits; 0 to 4 are "
        "taught, 5 to 9 are foreign."
    )
    row = st.columns(3, gap="medium")
    gamma = row[0].slider("γ: kernel width", 0.5, 20.0, 5.0, 0.5, key="digits_gamma")
    width = row[1].select_slider("M: random features", (64, 128, 256, 512, 1024), 512, key="digits_features")
    explained = row[2].slider("Variance that counts as normal", 0.3, 0.99, 0.9, 0.01, key="digits_explained")
    data = mapped_digits.digits()
    sides = {
        "Before: raw features": mapped_digits.before(data, explained),
        "After: mapped by CoRP": mapped_digits.after(data, explained, gamma=gamma, M=width),
    }
    theme = charts.current_theme()
    columns = st.columns(2, gap="medium")
    for i, (column, (title, side)) in enumerate(zip(columns, sides.items(), strict=True)):
        with column:
            st.markdown(f"**{title}** · AUROC {auroc(side.errors, data.foreign):.3f}")
            figure = playgrounds.error_histograms(side.errors, data.foreign, theme)
            charts.show(figure, key=f"methods_errors_{i}", alt="Overlaid error histograms of known and foreign digits.")
    words = np.where(data.foreign, "foreign", "known").tolist()
    plain = PointMarkers(np.zeros(len(words), bool), np.zeros(len(words), bool))
    for i, (column, side) in enumerate(zip(columns, sides.values(), strict=True)):
        with column, st.spinner("Computing the digit map…"):
            figure = scatter.scatter_by_category(
                _arranged(side.features), words, {"known": theme.good, "foreign": theme.defect}, plain, words, theme
            )
            charts.show(
                figure, key=f"methods_tsne_{i}", alt="t-SNE map of the digits; similar digits lie close together."
            )


@st.cache_data(max_entries=32, show_spinner=False)
def _arranged(features: np.ndarray) -> np.ndarray:
    return tsne(features)
