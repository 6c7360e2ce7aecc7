"""What a detector warns of, in the words of its mathematics."""


class FitWarning(UserWarning):
    """Of one fit or score. The app silences it and says what matters once, in plain words (`Method.fit_warning`)."""
