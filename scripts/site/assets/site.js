// The search. Its index is loaded when somebody begins to type.
const root = document.documentElement.dataset.root;
const input = document.getElementById('search');
const found = document.getElementById('found');
const MOST_SHOWN = 12;

const load = (name) =>
  new Promise((resolve, reject) => {
    const script = document.createElement('script');
    script.src = `${root}assets/${name}`;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${name} is missing`));
    document.head.append(script);
  });

let loading;
const index = () => {
  loading ??= load('minisearch.js')
    .then(() => load('search-index.js'))
    .then(() => window.MiniSearch.loadJSON(window.SEARCH_INDEX, window.SEARCH_OPTIONS));
  return loading;
};

const entry = ({ id, title, page }) => {
  const item = document.createElement('li');
  const link = document.createElement('a');
  link.href = root + id;
  const name = document.createElement('strong');
  name.textContent = title;
  link.append(name);
  if (page !== title) link.append(` ${page}`);
  item.append(link);
  return item;
};

const show = async () => {
  const query = input.value.trim();
  if (query === '') {
    found.hidden = true;
    return;
  }
  const searched = await index();
  if (input.value.trim() !== query) return;
  const hits = searched.search(query, { prefix: true, fuzzy: 0.15, combineWith: 'AND', boost: { title: 3, page: 2 } });
  const none = document.createElement('li');
  none.textContent = 'Nothing found.';
  found.replaceChildren(...(hits.length > 0 ? hits.slice(0, MOST_SHOWN).map(entry) : [none]));
  found.hidden = false;
};

const move = (step) => {
  const links = [...found.querySelectorAll('a')];
  const at = links.indexOf(document.activeElement) + step;
  (links[at] ?? input).focus();
};

// A phone shows the text first, a wide screen the list of pages, too.
document.querySelector('.menu').open = window.matchMedia('(min-width: 60rem)').matches;
input.addEventListener('input', show);
document.addEventListener('keydown', (event) => {
  if (event.key === '/' && document.activeElement !== input) {
    event.preventDefault();
    input.focus();
  } else if (event.key === 'Escape') {
    found.hidden = true;
  } else if (!found.hidden && (event.key === 'ArrowDown' || event.key === 'ArrowUp')) {
    event.preventDefault();
    move(event.key === 'ArrowDown' ? 1 : -1);
  }
});
