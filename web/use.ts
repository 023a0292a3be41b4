import { useEffect, useLayoutEffect, useState } from 'preact/hooks';
import { ServerError } from './api.ts';

/** What is asked of the server: not here yet, here, or refused. */
export type Asked<T> = { readonly value?: T; readonly error?: Error };

/** Asks again whenever a dependency changes; what is no longer wanted is aborted. */
export function useAsked<T>(ask: (signal: AbortSignal) => Promise<T>, dependencies: readonly unknown[]): Asked<T> {
  const [asked, setAsked] = useState<Asked<T>>({});
  useEffect(() => {
    const leaving = new AbortController();
    setAsked({});
    ask(leaving.signal).then(
      (value) => !leaving.signal.aborted && setAsked({ value }),
      (error: Error) => !leaving.signal.aborted && setAsked({ error }),
    );
    return () => leaving.abort();
  }, dependencies);
  return asked;
}

/** The part of the address behind `#`, without the query, and the query. */
export interface Route {
  readonly path: readonly string[];
  readonly query: URLSearchParams;
}

function readRoute(): Route {
  const [path = '', query = ''] = location.hash.replace(/^#\/?/, '').split('?');
  return { path: path.split('/').filter(Boolean).map(decodeURIComponent), query: new URLSearchParams(query) };
}

export function useRoute(): Route {
  const [route, setRoute] = useState(readRoute);
  // Before the first paint: an address that changes until then would be missed.
  useLayoutEffect(() => {
    const onChange = (): void => setRoute(readRoute());
    addEventListener('hashchange', onChange);
    return () => removeEventListener('hashchange', onChange);
  }, []);
  return route;
}

export const linkTo = (...parts: readonly string[]): string => `#/${parts.map(encodeURIComponent).join('/')}`;

export const describeError = (error: Error): string =>
  error instanceof ServerError && error.hint ? `${error.message} ${error.hint}` : error.message;
