import { useState } from 'preact/hooks';
import { describeBounds, formatParameters, formatTiming } from '../../src/reports/format.ts';
import type { CandidatePage as Candidate, InspectView } from '../../src/server/wire.ts';
import { getJson } from '../api.ts';
import { DocumentFrame } from '../parts/document-frame.tsx';
import { Findings } from '../parts/findings.tsx';
import { Drawn } from '../parts/markup.tsx';
import { Waiting } from '../parts/notices.tsx';
import { SourceView } from '../parts/source-view.tsx';
import { describeError, linkTo, type Route, useAsked } from '../use.ts';

/** A candidate of a run: its source with counters and PTX line by line, the findings, the roofline, and all evidence. */
export function CandidatePage({ path: [run = '', id = ''] }: Route) {
  const path = `/runs/${encodeURIComponent(run)}/evaluations/${encodeURIComponent(id)}`;
  const asked = useAsked((signal) => getJson<Candidate>(path, signal), [path]);
  const code = useAsked((signal) => getJson<{ view: InspectView | null }>(`${path}/code`, signal), [path]);
  const [marked, setMarked] = useState<number>();
  if (!asked.value) return <Waiting asked={asked} what={`Reading ${id}`} />;
  const { evaluation, view, roofline, html, move, decision } = asked.value;
  const { candidate, timing, findings } = evaluation;
  return (
    <>
      <h1>
        {candidate.kernel} {formatParameters(candidate.parameters)}
      </h1>
      <p class="note">
        {id} of <a href={linkTo('run', run)}>{run}</a>, candidate <code>{candidate.id}</code>,{' '}
        {evaluation.workload.name} on {evaluation.device.name}
        {move && `; ${move}`}
      </p>
      <p>
        <strong class={evaluation.status === 'passed' ? 'good' : 'bad'}>{evaluation.status}</strong>
        {evaluation.reason && `: ${evaluation.reason}`}
        {timing && `, ${formatTiming(timing)}, bound by ${timing.bindingResource}; ${describeBounds(timing)}`}
        {decision && `. ${decision}`}
      </p>
      <div class="beside">
        <div>
          <SourceView view={code.value?.view ?? view} marked={marked} />
          <p class="note" role="status">
            {ptxNote(code)}
          </p>
        </div>
        <aside>
          <h2>Findings</h2>
          <Findings findings={findings} onLine={setMarked} />
          {roofline !== null && (
            <>
              <h2>Roofline</h2>
              <Drawn svg={roofline} />
            </>
          )}
        </aside>
      </div>
      <details class="panel">
        <summary>All evidence</summary>
        <DocumentFrame html={html} title="All evidence" />
      </details>
    </>
  );
}

function ptxNote({ value, error }: { value?: { view: InspectView | null }; error?: Error }): string {
  if (error) return `No PTX: ${describeError(error)}`;
  if (!value) return 'Compiling for the PTX of each line …';
  return value.view ? 'A line’s number opens its PTX.' : 'No PTX: there is no data sheet of this device.';
}
