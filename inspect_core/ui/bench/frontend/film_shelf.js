/**
 * The shelf on which films (pictures and maps sent as bytes) wait under their tokens.
 *
 * Films and benches are separate components and may arrive in either order, so the shelf lives on the window.
 */
class FilmShelf {
  constructor() {
    this.films = new Map();
    this.waiting = new Map();
  }

  /** Lay the blobs of a film down under its token and wake those who asked for it. */
  put(token, blobs) {
    this.films.set(token, blobs);
    for (const wake of this.waiting.get(token) ?? []) wake(blobs);
    this.waiting.delete(token);
  }

  /** The blobs under a token, as a promise that is kept when they arrive. */
  get(token) {
    if (this.films.has(token)) return Promise.resolve(this.films.get(token));
    return new Promise((wake) => {
      this.waiting.set(token, [...(this.waiting.get(token) ?? []), wake]);
    });
  }

  drop(token) {
    this.films.delete(token);
    this.waiting.delete(token);
  }
}

const filmShelf = (window.loupeFilmShelf ??= new FilmShelf());
