import { useState } from 'preact/hooks';
import { formatInstant, formatNs } from '../../src/reports/format.ts';
import type { ListedRun, RunsReport } from '../../src/server/wire.ts';
import { getJson } from '../api.ts';
import { type Column, LongTable } from '../parts/long-table.tsx';
import { Waiting } from '../parts/notices.tsx';
import { StartForm } from '../parts/start-form.tsx';
import { linkTo, useAsked } from '../use.ts';

/** All runs of the store, and a form that starts one. Two that are chosen can be compared. */
export function RunsPage() {
  const asked = useAsked((signal) => getJson<RunsReport>('/runs', signal), []);
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const choose = (id: string): void =>
    setChosen(chosen.includes(id) ? chosen.filter((one) => one !== id) : [...chosen, id].slice(-2));
  const [older, newer] = [...chosen].sort();
  return (
    <>
      <h1>Runs</h1>
      <StartForm />
      {asked.value ? (
        <>
          <p class="note">
            {asked.value.runs.length === 0 ? 'No runs yet' : `${asked.value.runs.length} runs`} in{' '}
            <code>{asked.value.store}</code>.{' '}
            {newer !== undefined ? (
              <a href={linkTo('compare', newer, older!)}>Compare both</a>
            ) : (
              'Choose two to compare their bests.'
            )}
          </p>
          {asked.value.runs.length > 0 && (
            <LongTable
              label="Runs"
              rows={asked.value.runs}
              columns={columnsOf(chosen, choose)}
              keyOf={({ id }) => id}
            />
          )}
        </>
      ) : (
        <Waiting asked={asked} what="Reading the index" />
      )}
    </>
  );
}

const columnsOf = (chosen: readonly string[], choose: (id: string) => void): Column<ListedRun>[] => [
  {
    title: 'Run',
    value: ({ id }) => id,
    cell: ({ id }) => (
      <>
        <input type="checkbox" aria-label={`Compare ${id}`} checked={chosen.includes(id)} onChange={() => choose(id)} />{' '}
        <a href={linkTo('run', id)}>{id}</a>
      </>
    ),
  },
  { title: 'State', value: stateOf, cell: (run) => <span class={STATE_CLASS[run.state]}>{stateOf(run)}</span> },
  { title: 'Device', value: ({ device }) => device, cell: ({ device }) => device },
  {
    title: 'Evaluations',
    isFigure: true,
    value: ({ evaluations }) => evaluations,
    cell: ({ evaluations }) => evaluations,
  },
  { title: 'Best', value: ({ bestKernel }) => bestKernel, cell: ({ bestKernel }) => bestKernel ?? '–' },
  {
    title: 'Time',
    isFigure: true,
    value: ({ bestNs }) => bestNs,
    cell: ({ bestNs, kind }) => (bestNs === null ? '–' : `${kind} ${formatNs(bestNs)}`),
  },
  {
    title: 'Speed-up',
    isFigure: true,
    value: ({ speedup }) => speedup,
    cell: ({ speedup }) => (speedup === null ? '–' : `${speedup.toFixed(2)}×`),
  },
  {
    title: 'Started',
    value: ({ startedAt }) => startedAt,
    cell: ({ startedAt }) => (startedAt === null ? '–' : formatInstant(startedAt)),
  },
];

const STATE_CLASS: Readonly<Record<ListedRun['state'], string>> = {
  running: 'good',
  finished: '',
  died: 'warn',
  unreadable: 'bad',
};

const stateOf = ({ state, stopReason }: ListedRun): string => (state === 'finished' ? (stopReason ?? state) : state);
