/**
 * An invisible component in the sidebar: in a narrow window the menu folds away at the start and once it was used. The
 * browser keeps it folded, so a wide window opens again what a narrow one has folded.
 */

const NARROW = 1000;
const FOLDED = "loupe-menu-folded";
/** In a tab: the page that the menu was folded for. */
const FOLDED_FOR = "loupe-menu-folded-for";

/** data: the page shown. */
export default function foldMenu({ data, parentElement }) {
  const element = parentElement.host.closest('[data-testid="stElementContainer"]');
  if (element) element.style.position = "absolute"; // out of the flow, or it would take a gap
  const press = (button) => document.querySelector(`[data-testid="${button}`)?.click();
  if (window.innerWidth >= NARROW) {
    if (localStorage.getItem(FOLDED)) press('stExpandSidebarButton"]');
    localStorage.removeItem(FOLDED);
  } else if (sessionStorage.getItem(FOLDED_FOR) !== data) {
    sessionStorage.setItem(FOLDED_FOR, data);
    localStorage.setItem(FOLDED, "yes");
    press('stSidebarCollapseButton"] button');
  }
}
