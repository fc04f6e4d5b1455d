// The wheel zooms a chart only if the pointer was moved onto it, so that scrolling down the page does not stop at
// charts.

let scrolling = 0; // time until which the page counts as scrolling

export function onWheel(node: HTMLElement, act: (e: WheelEvent, steps: number) => boolean): void {
  let moved = false;
  node.addEventListener("pointermove", () => (moved = true));
  node.addEventListener("pointerleave", () => (moved = false));
  node.addEventListener("wheel", (e) => {
    const meant = moved || e.ctrlKey || document.activeElement === node;
    if (!meant || performance.now() < scrolling) {
      moved = false;
      scrolling = performance.now() + 250;
      return;
    }
    if (act(e, wheelSteps(e))) e.preventDefault();
    else scrolling = performance.now() + 250;
  }, { passive: false });
}

/** One notch of a wheel is a step; touchpads send many fractions of a step. */
function wheelSteps(e: WheelEvent): number {
  const unit = e.deltaMode === 1 ? 3 : e.deltaMode === 2 ? 1 : 100;
  return Math.max(-3, Math.min(3, e.deltaY / unit));
}

/** Tracks a pressed pointer; `end` is told whether it really moved. */
export function onDrag(node: HTMLElement, handlers: {
  start(x: number, y: number, e: PointerEvent): boolean;
  move(x: number, y: number, e: PointerEvent): void;
  end(moved: boolean, e: PointerEvent): void;
}): void {
  let from: { x: number; y: number; moved: boolean } | null = null;
  const place = (e: PointerEvent): [number, number] => {
    const box = node.getBoundingClientRect();
    return [e.clientX - box.left, e.clientY - box.top];
  };
  node.addEventListener("pointerdown", (e) => {
    // A finger scrolls the page instead.
    if (e.button !== 0 || e.pointerType === "touch") return;
    const [x, y] = place(e);
    if (!handlers.start(x, y, e)) return;
    from = { x, y, moved: false };
    node.setPointerCapture(e.pointerId);
  });
  node.addEventListener("pointermove", (e) => {
    if (!from) return;
    const [x, y] = place(e);
    if (!from.moved && Math.hypot(x - from.x, y - from.y) < 4) return;
    from.moved = true;
    handlers.move(x, y, e);
  });
  const stop = (e: PointerEvent) => {
    if (!from) return;
    const { moved } = from;
    from = null;
    handlers.end(moved, e);
  };
  node.addEventListener("pointerup", stop);
  node.addEventListener("pointercancel", stop);
}
