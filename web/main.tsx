import { type ComponentType, render } from 'preact';
import { useEffect } from 'preact/hooks';
import { takeToken } from './api.ts';
import { CandidatePage } from './pages/candidate.tsx';
import { ComparisonPage } from './pages/comparison.tsx';
import { CoursePage } from './pages/course.tsx';
import { DevicesPage } from './pages/devices.tsx';
import { PatternsPage } from './pages/patterns.tsx';
import { PlaygroundPage } from './pages/playground.tsx';
import { RunPage } from './pages/run.tsx';
import { RunsPage } from './pages/runs.tsx';
import { type Route, useRoute } from './use.ts';

/** Pages by the first part of the address, and those of the menu with their titles. */
const PAGES: Readonly<Record<string, { readonly page: ComponentType<Route>; readonly title?: string }>> = {
  runs: { page: RunsPage, title: 'Runs' },
  run: { page: RunPage },
  candidate: { page: CandidatePage },
  compare: { page: ComparisonPage },
  playground: { page: PlaygroundPage, title: 'Playground' },
  course: { page: CoursePage, title: 'Course' },
  patterns: { page: PatternsPage, title: 'Patterns' },
  devices: { page: DevicesPage, title: 'Devices' },
};

const HOME = 'runs';

function Page() {
  const route = useRoute();
  const [name = HOME, ...path] = route.path;
  const { page: Shown, title } = PAGES[name] ?? PAGES[HOME]!;
  // A lesson is tried in the playground.
  const current = route.query.has('lesson') ? 'course' : name;
  useEffect(() => {
    document.title = `${title ?? path[0] ?? 'warpsmith'} – warpsmith`;
  });
  return (
    <>
      <header class="bar">
        <a class="name" href="#/runs">
          warpsmith
        </a>
        <nav aria-label="Pages">
          {Object.entries(PAGES).map(
            ([id, { title: label }]) =>
              label && (
                <a key={id} href={`#/${id}`} aria-current={id === current ? 'page' : undefined}>
                  {label}
                </a>
              ),
          )}
        </nav>
      </header>
      <main>
        <Shown key={`${name}/${path.join('/')}`} path={path} query={route.query} />
      </main>
    </>
  );
}

takeToken();
const place = document.getElementById('page')!;
place.replaceChildren();
render(<Page />, place);
