use pyroscope::PyroscopeAgent;
use pyroscope_pprofrs::{pprof_backend, PprofConfig};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let agent = PyroscopeAgent::builder(busy::server(), busy::service())
        .backend(pprof_backend(PprofConfig::new().sample_rate(100)))
        .tags(vec![("region", "north")])
        .build()?;
    let running = agent.start()?;
    busy::work();
    running.stop()?.shutdown();
    Ok(())
}
