/** Films on the shelf: more than Python counts on, which is KEPT in bench.py. */
const ROOM = 12;

/**
 * The shelf on which films (pictures and maps sent as bytes) lie under their tokens: the last ones that were used.
 *
 * Films and benches are separate components and may arrive in either order, so the shelf lives on the window.
 */
class FilmShelf {
  constructor() {
    this.films = new Map();
  }

  /** The film under a token, there or awaited, is now the last used; the longest unused makes room. */
  film(token) {
    let found = this.films.get(token);
    if (!found) {
      found = { isHere: false };
      found.blobs = new Promise((arrive) => (found.arrive = arrive));
    }
    this.films.delete(token);
    this.films.set(token, found);
    if (this.films.size > ROOM) this.films.delete(this.films.keys().next().value);
    return found;
  }

  /** Lay the blobs of a film down under its token and wake those who asked for it. */
  put(token, blobs) {
    const film = this.film(token);
    film.isHere = true;
    film.arrive(blobs);
  }

  has(token) {
    return this.film(token).isHere;
  }

  /** The blobs under a token, as a promise that is kept when they arrive. */
  get(token) {
    return this.film(token).blobs;
  }
}

const filmShelf = (window.loupeFilms ??= new FilmShelf());
