import { getText } from '../api.ts';
import { DocumentFrame } from '../parts/document-frame.tsx';
import { Waiting } from '../parts/notices.tsx';
import { useAsked } from '../use.ts';

/** Every pattern, with what its moves expected and realised in the runs of the store. */
export function PatternsPage() {
  const asked = useAsked((signal) => getText('/patterns', signal), []);
  return (
    <>
      <h1>Patterns</h1>
      {asked.value === undefined ? (
        <Waiting asked={asked} what="Reading the index" />
      ) : (
        <DocumentFrame html={asked.value} title="Patterns" />
      )}
    </>
  );
}
