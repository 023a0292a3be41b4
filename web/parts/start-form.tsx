import { useState } from 'preact/hooks';
import type { DevicesReport } from '../../src/server/wire.ts';
import { getJson, postJson } from '../api.ts';
import { describeError, linkTo, useAsked } from '../use.ts';

/** Starts a run, as `warpsmith optimize` does. */
export function StartForm() {
  const targets = useAsked((signal) => getJson<{ targets: string[] }>('/targets', signal), []).value?.targets ?? [];
  const devices = useAsked((signal) => getJson<DevicesReport>('/devices', signal), []).value?.devices ?? [];
  const [error, setError] = useState('');
  const [isStarting, setIsStarting] = useState(false);
  const start = async (form: FormData): Promise<void> => {
    setError('');
    setIsStarting(true);
    try {
      const { id } = await postJson<{ id: string }>('/runs', requestOf(form));
      location.hash = linkTo('run', id);
    } catch (failure) {
      setError(describeError(failure as Error));
      setIsStarting(false);
    }
  };
  return (
    <details class="panel">
      <summary>Start a run</summary>
      <form
        class="fields"
        onSubmit={(event) => {
          event.preventDefault();
          void start(new FormData(event.currentTarget));
        }}
      >
        <label>
          Problem or kernel
          <input name="target" list="targets" required placeholder="softmax, or a folder" autocomplete="off" />
        </label>
        <datalist id="targets">
          {targets.map((target) => (
            <option key={target} value={target} />
          ))}
        </datalist>
        <label>
          Device
          <select name="device">
            {devices
              .filter(({ available }) => available)
              .map(({ id, name }) => (
                <option key={id} value={id}>{`${id} · ${name}`}</option>
              ))}
          </select>
        </label>
        <label>
          Workload
          <input name="workload" placeholder="the problem’s first" autocomplete="off" />
        </label>
        <label>
          Evaluations
          <input name="maximumEvaluations" type="number" min="1" placeholder="30" />
        </label>
        <button type="submit" class="primary" disabled={isStarting}>
          {isStarting ? 'Starting …' : 'Start'}
        </button>
        {error !== '' && (
          <p class="notice bad" role="alert">
            {error}
          </p>
        )}
      </form>
    </details>
  );
}

function requestOf(form: FormData): Record<string, string | number> {
  const texts = ['target', 'device', 'workload'].flatMap((name) => {
    const text = String(form.get(name) ?? '').trim();
    return text === '' ? [] : [[name, text] as const];
  });
  const count = Number(form.get('maximumEvaluations'));
  return { ...Object.fromEntries(texts), ...(count > 0 && { maximumEvaluations: count }) };
}
