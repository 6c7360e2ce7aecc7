"""Every measure of how well Loupe does, by the question it answers.

ranking: does the score separate good from defective?  region_overlap: does the map cover the true regions?
confidence: does a probability mean what it says?  identification: does the gallery name the right case?

Scores are anomaly scores (higher is more anomalous), labels are True for a defect, maps and masks are (n, H, W).
A measure that is undefined on the given data is NaN with a warning that says what is missing.
"""

from inspect_core.scoring.calibration_metrics import (
    ReliabilityCurve,
    accuracy,
    expected_calibration_error,
    hellinger,
    mean_max_confidence,
    ood_calibration_error,
    reliability_curve,
)
from inspect_core.scoring.identification import identification_rate
from inspect_core.scoring.ranking import auroc, fpr95_of_foreign, fpr_at_tpr, roc_curve
from inspect_core.scoring.region_overlap import aupro, pro_curve
