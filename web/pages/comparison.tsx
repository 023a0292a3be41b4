import { getText } from '../api.ts';
import { DocumentFrame } from '../parts/document-frame.tsx';
import { Waiting } from '../parts/notices.tsx';
import { linkTo, type Route, useAsked } from '../use.ts';

/** The bests of two runs side by side, as `warpsmith report RUN --against OTHER` prints them. */
export function ComparisonPage({ path: [run = '', other = ''] }: Route) {
  const [a, b] = [run, other].map(encodeURIComponent);
  const asked = useAsked((signal) => getText(`/runs/${a}/against/${b}`, signal), [run, other]);
  return (
    <>
      <h1>Two runs</h1>
      <p class="note">
        <a href={linkTo('run', run)}>{run}</a> against <a href={linkTo('run', other)}>{other}</a>
      </p>
      {asked.value === undefined ? (
        <Waiting asked={asked} what="Comparing" />
      ) : (
        <DocumentFrame html={asked.value} title="Comparison" />
      )}
    </>
  );
}
