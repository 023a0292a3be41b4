import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { describeBounds, formatNs, formatTiming } from '../../src/reports/format.ts';
import type { DevicesReport, Draft, Look } from '../../src/server/wire.ts';
import { getJson, postJson } from '../api.ts';
import { describeError, useAsked } from '../use.ts';
import { type Looked, useSettled, useTrace } from '../use-look.ts';
import { Divergence } from './divergence.tsx';
import { Findings } from './findings.tsx';
import { Lanes } from './lanes.tsx';
import { Drawn } from './markup.tsx';

interface LookTabsProps {
  readonly draft: Draft;
  readonly looked: Looked;
  /** Where the cursor is. */
  readonly place: { readonly file: string; readonly line: number };
  readonly onLine: (line: number) => void;
}

type Shown = LookTabsProps & { readonly look: Look };

const TABS: Readonly<Record<string, (shown: Shown) => ComponentChildren>> = {
  Result: (shown) => <Result {...shown} />,
  Findings: ({ look, onLine }) => <Findings findings={look.evaluation.findings} onLine={onLine} />,
  Lanes: (shown) => <Traced {...shown} what="lanes" />,
  Divergence: (shown) => <Traced {...shown} what="divergence" />,
  PTX: (shown) => <PtxOfLine {...shown} />,
  'All GPUs': (shown) => <AllDevices draft={shown.draft} />,
};

/** What a look at the draft shows, one part at a time. */
export function LookTabs(props: LookTabsProps) {
  const { look, error, isCurrent } = props.looked;
  const [tab, setTab] = useState('Result');
  return (
    <section class="look" aria-label="What came of it" aria-busy={!isCurrent}>
      <div class="tabs" role="tablist" aria-label="Parts">
        {Object.keys(TABS).map((name) => (
          <button key={name} type="button" role="tab" aria-selected={name === tab} onClick={() => setTab(name)}>
            {name}
          </button>
        ))}
      </div>
      <Verdict looked={props.looked} />
      {error ? (
        <p class="notice bad" role="alert">
          {describeError(error)}
        </p>
      ) : (
        look && <div class={isCurrent ? undefined : 'stale'}>{TABS[tab]!({ ...props, look })}</div>
      )}
    </section>
  );
}

/** Words of a status, for who knows that two checks are no verification. */
const STATUS: Readonly<Record<string, string>> = { unverified: 'right in two checks' };

function Verdict({ looked: { look, error, isCurrent } }: { readonly looked: Looked }) {
  if (error) return null;
  if (!look)
    return (
      <p class="notice" role="status">
        Judging …
      </p>
    );
  const { status, timing, reason } = look.evaluation;
  return (
    <div class={`verdict${isCurrent ? '' : ' stale'}`} role="status">
      <p class="large">{timing ? formatNs(timing.medianNs) : '–'}</p>
      <p>
        <strong class={status === 'unverified' ? 'good' : 'bad'}>{STATUS[status] ?? status}</strong>
        {timing && `, ${formatTiming(timing)}, bound by ${timing.bindingResource}`}
        {reason && status !== 'unverified' && `: ${reason}`}
        {!isCurrent && ' · judging …'}
      </p>
    </div>
  );
}

function Result({ look: { evaluation, roofline } }: Shown) {
  const { timing, correctness } = evaluation;
  const wrong = correctness?.firstWrong;
  return (
    <>
      {wrong && (
        <p class="bad">
          {wrong.output}[{wrong.index.join(', ')}] is {String(wrong.got)}, not {String(wrong.want)}; {wrong.wrongCount}{' '}
          of {wrong.elementCount} wrong
          {wrong.where && `: ${wrong.where}`}
        </p>
      )}
      {timing && (
        <>
          <p class="note">{describeBounds(timing)}</p>
          <dl class="bounds">
            {(timing.bounds ?? []).slice(0, 6).map(({ resource, ns, arithmetic }) => (
              <>
                <dt>{resource}</dt>
                <dd>
                  {formatNs(ns)} <span class="dim">{arithmetic}</span>
                </dd>
              </>
            ))}
          </dl>
        </>
      )}
      {roofline !== null && <Drawn svg={roofline} />}
    </>
  );
}

function PtxOfLine({ look, place }: Shown) {
  const line = look.view.lines.find((one) => one.file === place.file && one.line === place.line);
  if (!line || line.ptx.length === 0) return <p class="note">Line {place.line} became no PTX.</p>;
  return (
    <pre class="scroll code">
      {line.ptx.map(({ line: number, text }) => `${String(number).padStart(5)}  ${text}\n`).join('')}
    </pre>
  );
}

/** One warp of one launch: its requests lane by lane, or its lanes over time. */
function Traced({ draft, look, place, onLine, what }: Shown & { readonly what: 'lanes' | 'divergence' }) {
  const [warp, setWarp] = useState({ step: look.launches[0]?.step ?? 0, cta: 0, warp: 0 });
  const { traced, error } = useTrace(draft, warp);
  const field = (name: keyof typeof warp, label: string) => (
    <label>
      {label}
      <input
        type="number"
        min="0"
        value={warp[name]}
        onChange={(event) => setWarp({ ...warp, [name]: Number(event.currentTarget.value) })}
      />
    </label>
  );
  return (
    <>
      <div class="fields compact">
        {look.launches.length > 1 && field('step', 'Step')}
        {field('cta', 'CTA')}
        {field('warp', 'Warp')}
      </div>
      {error && <p class="notice bad">{describeError(error)}</p>}
      {!error && !traced && <p class="notice">Following the warp …</p>}
      {traced &&
        (what === 'lanes' ? (
          <Lanes trace={traced.trace} file={place.file} line={place.line} onLine={onLine} />
        ) : (
          <Divergence trace={traced.trace} onLine={onLine} />
        ))}
    </>
  );
}

/** The draft on every virtual GPU, one after the other. */
function AllDevices({ draft }: { readonly draft: Draft }) {
  const devices = useAsked((signal) => getJson<DevicesReport>('/devices', signal), []).value?.devices ?? [];
  const ids = devices.filter(({ kind }) => kind === 'virtual').map(({ id }) => id);
  const [looks, setLooks] = useState<Readonly<Record<string, Look | Error>>>({});
  useSettled(
    { draft, ids },
    async (signal) => {
      setLooks({});
      for (const device of ids) {
        const look = await postJson<Look>('/playground/look', { ...draft, device }, signal).catch(
          (error: Error) => error,
        );
        signal.throwIfAborted();
        setLooks((before) => ({ ...before, [device]: look }));
      }
    },
    () => {},
  );
  return (
    <dl class="bounds">
      {ids.map((id) => (
        <>
          <dt>{id}</dt>
          <dd>{describeLook(looks[id])}</dd>
        </>
      ))}
    </dl>
  );
}

function describeLook(look: Look | Error | undefined): string {
  if (look === undefined) return '…';
  if (look instanceof Error) return describeError(look);
  const { timing, status, reason } = look.evaluation;
  return timing ? `${formatTiming(timing)}, bound by ${timing.bindingResource}` : `${status}: ${reason ?? ''}`;
}
