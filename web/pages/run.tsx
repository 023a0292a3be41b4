import { useEffect, useState } from 'preact/hooks';
import { formatNs, formatRatio } from '../../src/reports/format.ts';
import type { EvaluationRow, ListedRun, RunChange, StoredRun, WatchedOption } from '../../src/server/wire.ts';
import { getJson, getText, postJson, stream } from '../api.ts';
import { DocumentFrame } from '../parts/document-frame.tsx';
import { type Column, LongTable } from '../parts/long-table.tsx';
import { Waiting } from '../parts/notices.tsx';
import { ProgressChart } from '../parts/progress-chart.tsx';
import { type Asked, describeError, linkTo, type Route, useAsked } from '../use.ts';

/** A run and what is known of its turn, if it goes on. */
interface Watched extends StoredRun, Partial<Pick<RunChange, 'options' | 'trying' | 'evaluationsLeft'>> {}

/** The run from the index; while it goes on, then whatever is appended to its log. */
function useRun(id: string): Asked<Watched> & { readonly again: () => void } {
  const [asked, setAsked] = useState<Asked<Watched>>({});
  const [round, setRound] = useState(0);
  useEffect(() => {
    const leaving = new AbortController();
    follow(id, leaving.signal, setAsked).catch((error: Error) => !leaving.signal.aborted && setAsked({ error }));
    return () => leaving.abort();
  }, [id, round]);
  return { ...asked, again: () => setRound((count) => count + 1) };
}

async function follow(id: string, signal: AbortSignal, tell: (asked: Asked<Watched>) => void): Promise<void> {
  const path = `/runs/${encodeURIComponent(id)}`;
  let watched: Watched = await getJson<StoredRun>(path, signal);
  tell({ value: watched });
  if (watched.run.state !== 'running') return;
  for await (const { from, evaluations, ...change } of stream<RunChange>(`${path}/live`, signal)) {
    watched = { ...change, evaluations: [...watched.evaluations.slice(0, from), ...evaluations] };
    tell({ value: watched });
    if (watched.run.state !== 'running') return;
  }
}

export function RunPage({ path: [id = '', tab = 'progress'] }: Route) {
  const asked = useRun(id);
  if (!asked.value) return <Waiting asked={asked} what={`Reading ${id}`} />;
  const { run } = asked.value;
  return (
    <>
      <h1>
        {run.problem} on {run.device}
      </h1>
      <p class="note">
        {id}: {run.workload}
        {run.workloads > 1 && ` and ${run.workloads - 1} more workloads`}
      </p>
      <RunState watched={asked.value} again={asked.again} />
      <nav class="tabs" aria-label="Parts of the run">
        {Object.entries(TABS).map(([name, { title }]) => (
          <a key={name} href={linkTo('run', id, name)} aria-current={name === tab ? 'page' : undefined}>
            {title}
          </a>
        ))}
      </nav>
      {(TABS[tab] ?? TABS.progress!).show(asked.value)}
    </>
  );
}

const TABS: Readonly<
  Record<string, { readonly title: string; readonly show: (watched: Watched) => preact.ComponentChildren }>
> = {
  progress: { title: 'Progress', show: (watched) => <Progress {...watched} /> },
  report: { title: 'Report', show: ({ run, evaluations }) => <Report id={run.id} version={evaluations.length} /> },
};

function RunState({ watched, again }: { readonly watched: Watched; readonly again: () => void }) {
  const { run, trying, evaluationsLeft } = watched;
  const best = watched.evaluations.find(({ id }) => id === run.best);
  const left = evaluationsLeft == null ? '' : `, ${evaluationsLeft} left`;
  return (
    <section class="panel state" aria-label="State">
      <p class="large" aria-live="polite">
        {run.speedup === null ? '–' : formatRatio(run.speedup)}
      </p>
      <dl>
        <dt>State</dt>
        <dd>
          {run.state === 'finished' ? `${run.stopReason}: ${run.detail}` : run.state}
          {run.error !== null && `: ${run.error}`}
          {trying !== undefined && run.state === 'running' && `: trying ${trying}`}
        </dd>
        <dt>Evaluations</dt>
        <dd>
          {run.evaluations}
          {left}
        </dd>
        <dt>Best</dt>
        <dd>
          {best ? (
            <>
              <a href={linkTo('candidate', run.id, best.id)}>{best.id}</a> {best.kernel}, {describeTime(best)}
            </>
          ) : (
            'none'
          )}
        </dd>
      </dl>
      <Controls run={run} again={again} />
    </section>
  );
}

const describeTime = ({ kind, medianNs, lowNs, highNs }: EvaluationRow): string =>
  medianNs === null
    ? 'no valid time'
    : `${kind} ${formatNs(medianNs)}${lowNs === null || highNs === null ? '' : ` [${formatNs(lowNs)} … ${formatNs(highNs)}]`}`;

/** Stops a run as Ctrl-C does, and resumes it as the command line does. */
function Controls({ run, again }: { readonly run: ListedRun; readonly again: () => void }) {
  const [error, setError] = useState('');
  const [isBusy, setIsBusy] = useState(false);
  const isRunning = run.state === 'running';
  useEffect(() => setIsBusy(false), [run.state]);
  const press = async (): Promise<void> => {
    setError('');
    setIsBusy(true);
    try {
      await postJson(`/runs/${encodeURIComponent(run.id)}/${isRunning ? 'stop' : 'resume'}`, {});
      if (!isRunning) again();
    } catch (failure) {
      setError(describeError(failure as Error));
      setIsBusy(false);
    }
  };
  return (
    <div class="controls">
      <button type="button" class="primary" onClick={press} disabled={isBusy || run.state === 'unreadable'}>
        {isRunning ? 'Stop' : 'Resume'}
      </button>
      {error !== '' && (
        <p class="notice bad" role="alert">
          {error}
        </p>
      )}
    </div>
  );
}

function Progress({ run, evaluations, options }: Watched) {
  const kept = evaluations.filter(({ decision }) => decision === 'keep');
  return (
    <>
      <ProgressChart evaluations={evaluations} workload={run.workload} kind={run.kind} />
      <h2>Lineage</h2>
      <ol class="lineage">
        {kept.map((row) => (
          <li key={row.id}>
            <a href={linkTo('candidate', run.id, row.id)}>{row.id}</a> {row.kernel} <Settings row={row} />{' '}
            {describeTime(row)}
            {row.ratio !== null && row.iteration > 0 && `, ${formatRatio(row.ratio)}`}
          </li>
        ))}
      </ol>
      {options !== undefined && options.length > 0 && (
        <>
          <h2>Options of this turn</h2>
          <LongTable
            label="Options"
            rows={options}
            columns={OPTION_COLUMNS}
            keyOf={(option) => `${option.move} ${option.evaluationId}`}
          />
        </>
      )}
      <h2>Evaluations</h2>
      <LongTable label="Evaluations" rows={evaluations} columns={evaluationColumns(run)} keyOf={({ id }) => id} />
    </>
  );
}

function Settings({ row: { parameters } }: { readonly row: EvaluationRow }) {
  const text = settingsOf(parameters);
  return text === '' ? null : <span class="dim">({text})</span>;
}

const settingsOf = (parameters: string): string =>
  Object.entries(JSON.parse(parameters) as Record<string, number>)
    .map(([name, value]) => `${name}=${value}`)
    .join(', ');

const OPTION_COLUMNS: readonly Column<WatchedOption>[] = [
  { title: 'Option', value: ({ move }) => move, cell: ({ move }) => move },
  {
    title: '(gain − 1) × confidence ÷ cost',
    value: ({ arithmetic }) => arithmetic,
    cell: ({ arithmetic }) => arithmetic,
  },
  { title: 'Pattern', value: ({ pattern }) => pattern, cell: ({ pattern }) => pattern },
  {
    title: 'Finding',
    value: ({ finding }) => finding,
    cell: ({ finding, evaluationId }) => `${finding} of ${evaluationId}`,
  },
  { title: 'Kept before', value: ({ evidence }) => evidence, cell: ({ evidence }) => evidence },
  { title: 'State', value: ({ state }) => state, cell: ({ state }) => state },
];

const evaluationColumns = ({ id: run, kind }: ListedRun): Column<EvaluationRow>[] => [
  {
    title: 'Evaluation',
    value: ({ id }) => Number(id.slice(1)),
    cell: ({ id }) => <a href={linkTo('candidate', run, id)}>{id}</a>,
  },
  { title: 'Kernel', value: ({ kernel }) => kernel, cell: ({ kernel }) => kernel },
  {
    title: 'Parameters',
    value: ({ parameters }) => settingsOf(parameters),
    cell: ({ parameters }) => settingsOf(parameters),
  },
  {
    title: 'Status',
    value: ({ status }) => status,
    cell: ({ status }) => <span class={status === 'passed' ? undefined : 'bad'}>{status}</span>,
  },
  {
    title: kind === null ? 'Time' : `Time, ${kind}`,
    isFigure: true,
    value: ({ medianNs }) => medianNs,
    cell: ({ medianNs }) => (medianNs === null ? '–' : formatNs(medianNs)),
  },
  { title: '× best before', isFigure: true, value: ({ ratio }) => ratio, cell: ({ ratio }) => formatRatio(ratio) },
  { title: 'Decision', value: ({ decision }) => decision, cell: ({ decision }) => decision ?? '–' },
  { title: 'Workload', value: ({ workload }) => workload, cell: ({ workload }) => workload },
];

/** @param version asks again when the run has gone on. */
function Report({ id, version }: { readonly id: string; readonly version: number }) {
  const asked = useAsked((signal) => getText(`/runs/${encodeURIComponent(id)}/report`, signal), [id, version]);
  return asked.value === undefined ? (
    <Waiting asked={asked} what="Printing the report" />
  ) : (
    <DocumentFrame html={asked.value} title="Report" />
  );
}
