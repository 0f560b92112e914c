import java.nio.file.Files;
import java.nio.file.Path;
import org.ohdsi.circe.cohortdefinition.CohortExpressionQueryBuilder;
import org.ohdsi.circe.cohortdefinition.CohortExpressionQueryBuilder.BuildExpressionQueryOptions;

/** Writes the SQL that OHDSI's own Circe makes of the expressions in files: FILE.json to FILE.sql. */
public class CirceSql {
    public static void main(String[] files) throws Exception {
        for (String file : files) {
            BuildExpressionQueryOptions options = new BuildExpressionQueryOptions();
            options.cdmSchema = "cdm";
            options.vocabularySchema = "cdm";
            options.resultSchema = "results";
            options.targetTable = "results.cohort";
            options.cohortId = 1;
            options.generateStats = false;
            String sql = new CohortExpressionQueryBuilder().buildExpressionQuery(Files.readString(Path.of(file)), options);
            Files.writeString(Path.of(file.replace(".json", ".sql")), sql);
        }
    }
}
