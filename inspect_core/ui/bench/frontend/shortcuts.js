/** Keys of the bench, wherever the focus is on the page but in a field: labels, the next part, how it is drawn. */
class Shortcuts {
  /** acts: a function by key; help: the details element that lists them, toggled by "?". */
  constructor(help, acts) {
    this.acts = { ...acts, "?": () => (help.open = !help.open) };
    this.listen = (event) => this.onKey(event);
    document.addEventListener("keydown", this.listen);
  }

  close() {
    document.removeEventListener("keydown", this.listen);
  }

  onKey(event) {
    const field = event.composedPath()[0];
    const isTyping = field.matches?.("input:not([type=checkbox]):not([type=range]), textarea, select, [contenteditable=true]");
    const act = this.acts[event.key?.toLowerCase()]; // a browser that fills in a field sends no key
    if (!act || isTyping || event.ctrlKey || event.metaKey || event.altKey || event.repeat) return;
    if (document.querySelector('[role="dialog"]')) return;
    event.preventDefault();
    act();
  }
}
