// One slide at a time on a canvas of 1280 by 720, scaled to the window. Its number stands in the address after #.
const slides = [...document.querySelectorAll('section')];
const main = document.querySelector('main');
const SMALLEST = 12; // pixels of the canvas
const KEYS = {
  ArrowRight: 1, ArrowDown: 1, PageDown: 1, ' ': 1, ArrowLeft: -1, ArrowUp: -1, PageUp: -1, Home: -Infinity, End: Infinity,
};

function here() {
  return Math.min(Math.max(parseInt(location.hash.slice(1), 10) || 1, 1), slides.length);
}

function show() {
  slides.forEach((slide, k) => slide.classList.toggle('here', k === here() - 1));
}

function scale() {
  const by = Math.min(innerWidth / 1280, innerHeight / 720);
  const [left, top] = [(innerWidth - 1280 * by) / 2, (innerHeight - 720 * by) / 2];
  main.style.transform = `translate(${left}px, ${top}px) scale(${by})`;
}

function go(by) {
  location.hash = Math.min(Math.max(here() + by, 1), slides.length);
}

// Text that is too tall or too wide for its slide becomes smaller. A figure shrinks by itself.
window.fit = () => {
  for (const slide of slides) {
    slide.style.display = 'flex';
    const [box] = slide.querySelectorAll('.fit');
    const inner = box && box.firstElementChild;
    const sized = inner && (inner.querySelector('.lines') || inner);
    const small = () => inner.scrollHeight <= box.clientHeight && inner.scrollWidth <= box.clientWidth;
    let size = inner ? parseFloat(getComputedStyle(sized).fontSize) : 0;
    while (inner && !small() && size > SMALLEST) {
      size -= 1;
      sized.style.fontSize = `${size}px`;
    }
    if (inner && !small()) sized.classList.add('wrapped');
    slide.style.display = '';
  }
  document.documentElement.dataset.ready = 'yes';
};

slides.forEach((slide, k) => { slide.dataset.page = `${k + 1} / ${slides.length}`; });
addEventListener('hashchange', show);
addEventListener('resize', scale);
addEventListener('keydown', (event) => {
  if (event.key in KEYS && !event.ctrlKey && !event.altKey && !event.metaKey) {
    event.preventDefault();
    go(KEYS[event.key]);
  }
});
main.addEventListener('click', (event) => go(event.clientX < innerWidth / 4 ? -1 : 1));
scale();
show();
